/** Every error of the plugin `usage`. */
import { PorticoError } from "portico";

export const errors = PorticoError.table({
  twoStarts: { code: "invalid_request_error", message: "Send `since` or `from`, not both." },
  startAfterEnd: { code: "invalid_request_error", message: "`from` is later than `to`." },
  badTime: {
    code: "invalid_request_error",
    message:
      "`{param}` must be a date (2026-11-21), a time (2026-11-21T08:00:00Z) or how long ago (7d, 24h).",
  },
  unknownGroup: {
    code: "invalid_request_error",
    message: "`by` cannot be `{name}`. Use {groups}.",
  },
  dayAndHour: {
    code: "invalid_request_error",
    message: "Group by `day` or by `hour`, not by both.",
  },

  // Single requests.
  filterNotKept: {
    code: "invalid_request_error",
    message:
      "`{name}` is not stored with individual requests. To filter by `{name}`, use `GET /requests`.",
  },
  badStatus: {
    code: "invalid_request_error",
    message: "`status` must be a status (429) or a class of statuses (4xx).",
  },
  badPlace: {
    code: "invalid_request_error",
    message: "`before` must be the `next` value of an earlier page.",
  },
});
