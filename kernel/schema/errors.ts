/** Every error of checking values against a schema. */
import { PorticoError } from "../errors.ts";

export const errors = PorticoError.table({
  /** `problem` is a sentence of `problems.ts` without its full stop. */
  invalidValue: { code: "invalid_request_error", message: "{problem}." },
  unexplained: {
    code: "invalid_request_error",
    message: "The input does not match the schema.",
  },
  nullReference: {
    code: "invalid_request_error",
    message:
      "{param} is null. Send the ref of an element from a snapshot, or leave {name} out where it is optional.",
  },
});
