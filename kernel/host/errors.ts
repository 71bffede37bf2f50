/** Every error of the bus and of the registry of services. */
import { PorticoError } from "../errors.ts";

export const errors = PorticoError.table({
  undeclaredEvent: {
    code: "internal_error",
    message: "The event {event} is not declared by the kernel or any plugin.",
  },
  eventLoop: {
    code: "event_loop",
    message: "Events trigger each other in an endless loop: {path}.",
  },
  /** `reason` is the hook's own message. */
  blocked: {
    code: "blocked_by_hook",
    type: "invalid_request_error",
    message: "{reason}",
  },
  hookUnavailable: {
    code: "hook_unavailable",
    message: "The {owner}, which must check {event}, is not working. Try again later.",
  },
  serviceMissing: {
    code: "service_unavailable",
    message: "The service {name} is not running. See `portico plugins list`.",
  },
});
