/** Packages that only some need, and so install themselves. */
import { PorticoError } from "portico";

/** The package, loaded now. Throws `upstream_auth` with what it is for where it is not installed. */
export async function optionalPackage<T>(name: string, missing: string): Promise<T> {
  try {
    return (await import(name)) as T;
  } catch (error) {
    throw new PorticoError("upstream_auth", `${missing}: npm install ${name}`, {
      type: "api_error",
      cause: error,
    });
  }
}

/** What such a package's error tells a client: its first line, without the paths of this machine. */
export function packageReason(error: unknown): string {
  const [line = ""] = (error instanceof Error ? error.message : "").split("\n");
  return line.replace(/(?<![\w:/.])~?(?:\/[^\s"',:;()/]+){2,}/g, "…").slice(0, 300);
}
