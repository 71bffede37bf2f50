/** Packages that only some need, and so install themselves. */
/** Loads a package now. Where it cannot be loaded, it throws the error that `missing` makes of the reason. */
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

/** The part of such a package's error that a client may see: its first line, without the paths of this machine. */
export function packageReason(error: unknown): string {
  const [line = ""] = (error instanceof Error ? error.message : "").split("\n");
  return line.replace(/(?<![\w:/.])~?(?:\/[^\s"',:;()/]+){2,}/g, "…").slice(0, 300);
}
