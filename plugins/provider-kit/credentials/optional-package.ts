/** Optional packages, which users install themselves if their configuration needs them. */

/** Imports a package. If that fails, throws the error that `missing` creates from the cause. */
export async function optionalPackage<T>(
  name: string,
  missing: (cause: unknown) => Error,
): Promise<T> {
  try {
    return (await import(name)) as T;
  } catch (error) {
    throw missing(error);
  }
}

/** Returns the part of such a package's error that a client may see: its first line, without paths of this machine. */
export function packageReason(error: unknown): string {
  const [line = ""] = (error instanceof Error ? error.message : "").split("\n");
  return line.replace(/(?<![\w:/.])~?(?:\/[^\s"',:;()/]+){2,}/g, "…").slice(0, 300);
}
