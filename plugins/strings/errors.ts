/** The errors of reading queries and conditions. */
import { PorticoError } from "portico";

export const errors = PorticoError.table({
  invalidParameter: { code: "invalid_request_error", message: "{name} must be {expected}." },
  versionMissing: {
    code: "precondition_required",
    message: "The If-Match header is missing. Send the ETag that {source} returned.",
  },
  versionUnreadable: {
    code: "invalid_request_error",
    message: 'If-Match must contain an entity tag in quotes, like the ETag header: If-Match: "…".',
  },
});
