/** Every error of the static files. */
import { PorticoError } from "portico";

export const errors = PorticoError.table({
  noSuchPage: { code: "not_found", message: "There is no such page." },
});
