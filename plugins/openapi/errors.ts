/** Every error of the plugin `openapi`. */
import { PorticoError } from "portico";

export const errors = PorticoError.table({
  unknownServer: {
    code: "not_found",
    message: "There is no server {server}. The servers are: {names}.",
  },
});
