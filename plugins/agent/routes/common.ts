/** What the routes share. */
import { PorticoError } from "portico";

export function notFound(what: string, id: string | undefined): never {
  throw new PorticoError("not_found", `There is no ${what} ${id ?? ""}.`);
}
