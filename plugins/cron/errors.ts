/** Every error of the plugin `cron`. */
import { PorticoError } from "portico";

export const errors = PorticoError.table({
  idMissing: {
    code: "invalid_request_error",
    message: "The action {action} needs `id`, the id or name of a job.",
  },
  datePast: {
    code: "invalid_request_error",
    message: "The date is in the past. Use a date in the future.",
  },

  // hooks that a job or a poll runs
  handlersTooSlow: {
    code: "timeout",
    message: "The handlers of {event} took longer than {timeoutMs} ms.",
  },
  handlerFailed: { code: "hook_failed", status: 500, message: "{owner}: {reason}" },
  blocked: { code: "blocked_by_hook", message: "A hook blocked {event}: {reason}" },
});
