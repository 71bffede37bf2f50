/** All errors of the plugin `deliveries`. */
import { PorticoError } from "portico";

export const errors = PorticoError.table({
  secretGone: {
    code: "delivery_secret_gone",
    status: 409,
    message: "The delivery takes its secrets from {path}, which is no longer in the configuration.",
  },
  keyUnknown: {
    code: "delivery_key_unknown",
    status: 409,
    message:
      "The secrets of the delivery were encrypted with a key that this home does not have. Copy state/delivery-key from the home that stored the delivery, or set the secret and the headers of the delivery again.",
  },
  unknownDelivery: {
    code: "not_found",
    message: "There is no delivery {id}. `portico deliveries list` shows the newest deliveries.",
  },
  notEnded: {
    code: "conflict",
    message: "The delivery {id} has not ended yet. The gateway tries it again automatically.",
  },
  placeholderInHost: {
    code: "invalid_request_error",
    message: "{key} may contain placeholders in its path and query, but not in its host.",
  },
  badHeader: { code: "invalid_request_error", message: "{key} is not a header that can be sent." },
  badSecret: {
    code: "invalid_request_error",
    message: "{key} is not a signing secret. Write whsec_ and {bytes} bytes or more in Base64.",
  },
});
