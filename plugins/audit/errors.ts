/** Every error of the plugin `audit`. */
import { PorticoError } from "portico";

export const errors = PorticoError.table({
  unknownEntry: {
    code: "not_found",
    message: "The audit trail has no entry with this id. `portico audit` lists the entries.",
  },
  badPlace: {
    code: "invalid_request_error",
    message: "`before` must be the `next` value of an earlier page.",
  },
});
