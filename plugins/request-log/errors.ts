/** Every error of the plugin `request-log`. */
import { PorticoError } from "portico";

export const errors = PorticoError.table({
  unknownRequest: {
    code: "not_found",
    message:
      "The gateway has no record of a request with this id. It stores only the newest requests, and loses them when it restarts. GET /requests lists the stored requests.",
  },
  badStatus: {
    code: "invalid_request_error",
    message: "`status` must be a status such as 429, or a class of statuses such as 4xx.",
  },
  badPlace: {
    code: "invalid_request_error",
    message: "`before` must be the `next` value of an earlier page.",
  },
});
