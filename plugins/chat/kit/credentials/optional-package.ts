/** Packages that only some need, and so install themselves. */
import { PorticoError } from "portico";

/** The package, loaded now. Throws `upstream_auth` with what it is for where it is not installed. */
export async function optionalPackage<T>(name: string, missing: string): Promise<T> {
  try {
    return (await import(name)) as T;
  } catch (error) {
    throw new PorticoError("upstream_auth", `${missing}: npm install ${name}`, { type: "api_error", cause: error });
  }
}
