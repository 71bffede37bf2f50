/** A file that does not load, with the place where that is known. */
import { asError } from "../../errors.ts";
import { dirname, relative, resolve } from "node:path";

export class LoadError extends Error {
  override name = "LoadError";
  constructor(
    message: string,
    readonly file?: string,
    readonly line?: number,
    readonly column?: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

interface Location {
  file: string;
  line: number;
  column: number;
}

/** esbuild's messages and thrown errors, as one line that begins with `file:line:column`. */
export function asLoadError(thrown: unknown, entry: string): LoadError {
  if (thrown instanceof LoadError) return thrown;
  const dir = dirname(entry);
  const first = (thrown as { errors?: { text: string; location?: Location | null }[] })?.errors?.[0];
  if (first) {
    const { text, location } = first;
    const said = /Top-level await/.test(text) ? "top-level await is not supported here: move it into a function" : text;
    if (!location) return new LoadError(said, entry, undefined, undefined, { cause: thrown });
    return at({ ...location, file: resolve(dir, location.file), column: location.column + 1 }, said, dir, thrown);
  }
  const error = asError(thrown);
  const place = placeOf(error, dir);
  return place
    ? at(place, error.message, dir, error)
    : new LoadError(error.message, entry, undefined, undefined, { cause: error });
}

function at({ file, line, column }: Location, message: string, dir: string, cause: unknown): LoadError {
  return new LoadError(`${relative(dir, file)}:${line}:${column}: ${message}`, file, line, column, { cause });
}

/** The first frame of an error's stack that lies below a directory. */
export function placeOf(error: Error, dir: string): Location | undefined {
  for (const frame of (error.stack ?? "").split("\n")) {
    const match = /(?:file:\/\/)?(\/[^():]+):(\d+):(\d+)\)?$/.exec(frame);
    const file = match?.[1] && decodeURI(match[1]);
    if (match && file?.startsWith(`${dir}/`)) return { file, line: Number(match[2]), column: Number(match[3]) };
  }
  return undefined;
}
