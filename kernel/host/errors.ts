/** Every error of the bus and of the registry of services. */
import { PorticoError } from "../errors.ts";

export const errors = PorticoError.table({
  undeclaredEvent: {
    code: "internal_error",
    message: "Nobody has declared the event {event}.",
  },
  eventLoop: {
    code: "event_loop",
    message: "Events cause each other without end: {path}.",
  },
  /** `reason` is what the hook says. */
  blocked: {
    code: "blocked_by_hook",
    type: "invalid_request_error",
    message: "{reason}",
  },
  hookUnavailable: {
    code: "hook_unavailable",
    message: "The {owner} has to judge {event} and does not work: try again later.",
  },
  serviceMissing: {
    code: "service_unavailable",
    message: "The {name} service is not running: see `portico plugins list`.",
  },
});
