/** Describes problems in users' code in one line, with their place if it is known. */
import { dirname, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Message } from "esbuild";
import { asError } from "../errors.ts";

export interface Problem {
  message: string;
  file?: string;
  line?: number;
  column?: number;
}

/** The error of a file that cannot be loaded. */
export class LoadError extends Error implements Problem {
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

type Location = Required<Omit<Problem, "message">>;

/** Converts esbuild's messages and thrown errors to one line that begins with `file:line:column`. */
export function asLoadError(thrown: unknown, entry: string): LoadError {
  if (thrown instanceof LoadError) return thrown;
  const dir = dirname(entry);
  const esbuildMessage = (thrown as { errors?: Message[] })?.errors?.[0];
  const error = asError(thrown);
  const location = esbuildMessage?.pluginName ? null : esbuildMessage?.location; // the location of an error in a plugin is in our own code
  const place = esbuildMessage
    ? location && { ...location, file: resolve(dir, location.file), column: location.column + 1 }
    : findPlace(error, dir);
  const text = esbuildMessage?.text ?? error.message.replace(/\nRequire stack:[\s\S]*$/, "");
  const message = /^Top-level await/.test(text)
    ? "top-level await is not supported here: move it into a function"
    : text;
  if (!place) return new LoadError(message, entry, undefined, undefined, { cause: thrown });
  const { file, line, column } = place;
  return new LoadError(`${relative(dir, file)}:${line}:${column}: ${message}`, file, line, column, {
    cause: thrown,
  });
}

/** Returns the location of the first frame in an error's stack that is below a directory. */
export function findPlace(error: Error, dir: string): Location | undefined {
  for (const frame of (error.stack ?? "").split("\n")) {
    const [, place = "", line, column] = /^(.*[^>]):(\d+):(\d+)\)?$/.exec(frame) ?? [];
    // Without a source map, the place is a file URL. A path may contain any character, also those that usually end one.
    const text = place.replace(/file:\/\/\/\S+$/, fileURLToPath);
    const at = Math.max(text.indexOf(` ${dir}/`), text.indexOf(`(${dir}/`));
    if (at >= 0) return { file: text.slice(at + 1), line: Number(line), column: Number(column) };
  }
  return undefined;
}

/** Converts an error to a problem. Its place is that of the first stack frame below `dir`, else the fallback file. */
export function toProblem(thrown: unknown, dir: string, fallback?: string): Problem {
  const error = asError(thrown);
  const { message, name } = error;
  const { file = fallback, line, column } = locate(error, dir) ?? {};
  return {
    message: PLAIN_NAMES.includes(name) ? message : `${name}: ${message}`,
    file,
    line,
    column,
  };
}

/** Names of errors that add nothing to the message. */
const PLAIN_NAMES = ["", "Error", "LoadError", "DeadlineError", "EndlessLoopError", "Interrupted"];

function locate(error: Error, dir: string): Partial<Location> | undefined {
  if (error instanceof LoadError) return error;
  // An interruption may occur anywhere, so its place is meaningless.
  return error.name === "Interrupted" ? undefined : findPlace(error, dir);
}

/** Returns `handler.ts:3: message`; only the message if no place is known or the message begins with it. */
export function formatProblem({ message, file, line }: Problem, dir: string): string {
  if (!file || line === undefined) return message;
  const at = `${relative(dir, file)}:${line}`;
  return message.startsWith(at) ? message : `${at}: ${message}`;
}
