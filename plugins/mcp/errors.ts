/** Every error of the plugin `mcp`. */
import { PorticoError } from "portico";

export const errors = PorticoError.table({
  commandOrUrl: {
    code: "invalid_request_error",
    message: "{server} needs either `command` or `url`.",
  },
});
