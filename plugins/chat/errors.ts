/** Every error of the plugin `chat`. */
import { PorticoError } from "portico";

export const errors = PorticoError.table({
  endlessTurn: {
    code: "event_loop",
    status: 409,
    message:
      "A hook on {event} cannot ask the model {model}, because that starts a turn, which emits {event} again. Ask another model.",
  },
});
