/** Every error of the provider kit. */
import { PorticoError } from "portico";

export const errors = PorticoError.table({
  /** `problem` is the caller's: only it knows what its target can express. */
  refusedField: { code: "invalid_request_error", message: "{problem}" },
});
