/** Every error of the plugin `responses` that does not come from checking a field of a request. */
import { PorticoError } from "portico";

export const errors = PorticoError.table({
  unknownResponse: {
    code: "not_found",
    type: "invalid_request_error",
    message: "There is no response `{id}`. It was not stored, or it has expired.",
  },
  previousResponseGone: {
    code: "previous_response_not_found",
    status: 400,
    type: "invalid_request_error",
    message:
      "There is no response `{id}` to continue from. It was not stored, or it has expired. Send the whole conversation as input.",
  },
});
