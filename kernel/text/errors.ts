/** Every error of reading texts. */
import { PorticoError } from "../errors.ts";

export const errors = PorticoError.table({
  badKey: {
    code: "invalid_request_error",
    message:
      '"{text}" is not a key: "{rest}" cannot be read. Write a key as a.b, a[0] or a["x.y"].',
  },
  emptyKey: {
    code: "invalid_request_error",
    message: 'The key is empty. Write a key as a.b, a[0] or a["x.y"].',
  },
});
