/** Every error of the plugin `docs`. */
import { PorticoError } from "portico";

export const errors = PorticoError.table({
  notBuilt: {
    code: "not_found",
    message: "The documentation is not built. Run `npm run build` in the installation.",
  },
});
