/** Every error of the provider kit. */
import { PorticoError } from "portico";

export const errors = PorticoError.table({
  /** The caller supplies `problem`, because only it knows what its target can express. */
  refusedField: { code: "invalid_request_error", message: "{problem}" },
});
