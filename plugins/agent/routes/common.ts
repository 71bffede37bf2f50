/** What the routes share. */
import { PorticoError } from "portico";

export const owner = { access: "gateway" } as const;

export function notFound(what: string, id: string | undefined): never {
  throw new PorticoError("not_found", `There is no ${what} ${id ?? ""}.`);
}
