/** Every error of the plugin `management`. */
import { PorticoError } from "portico";

export const errors = PorticoError.table({
  // hooks that the user runs
  eventMissing: {
    code: "invalid_request_error",
    message: "Name the event to run. This hook handles {handled}.",
  },
  eventNotHandled: {
    code: "invalid_request_error",
    message: "The hook does not handle {event}. It handles {handled}.{hint}",
  },

  // configuration
  noObjectAtPath: {
    code: "invalid_request_error",
    message: "The path does not lead to an object, so it has no members to change.",
  },
  maskedValue: {
    code: "invalid_request_error",
    message: "The value is masked. Send the secret itself.",
  },
});
