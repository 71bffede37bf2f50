/**
 * The variables that the configuration may refer to: those of the process, which take precedence, and those of
 * `<home>/.env`.
 */
import { readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { parseEnv } from "node:util";
import { ConfigError } from "./config-error.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The file that holds the variables of a home. */
export const envFileIn = (home: string): string => join(home, ".env");

/** Matches the text before a variable's name. A shell accepts any white space after `export`. */
const EXPORT = /[^\S\n]*(?:export[^\S\n]+)?/y;
/** Matches a blank line or a comment. */
const BLANK_OR_COMMENT = /[^\S\n]*(?:#[^\n]*)?(?:\n|$)/y;
const NAME = /[A-Za-z_]\w*[^\S\n]*=[^\S\n]*/y;
/** Matches a quoted value, which may span several lines. */
const QUOTED = /"[^"]*"|'[^']*'|`[^`]*`/y;
const LINE = /[^\n]*(?:\n|$)/y;

/**
 * Reads the file; a missing one is empty. Throws a `ConfigError` if others than its owner may read or write it, because
 * it holds secrets.
 */
export function readEnvFile(file: string): string {
  try {
    const { mode, uid } = statSync(file);
    const ownId = process.getuid?.() ?? uid;
    if ((mode & 0o077) !== 0) refuse(file, `other users may read it: run chmod 600 ${file}`);
    if (uid !== ownId && uid !== 0) refuse(file, "it belongs to another user");
    return readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (error instanceof ConfigError) throw error;
    return code === "ENOENT" ? "" : refuse(file, `it cannot be read (${code})`);
  }
}

/**
 * Adds the variables of the file to those of `env`, which take precedence. Throws a `ConfigError` for a line that is
 * not `NAME=value`, without showing the line.
 */
export function addVariables(
  env: Environment,
  file: string,
  text = readEnvFile(file),
): Environment {
  return { ...parseEnv(extractAssignments(text.replace(/^\uFEFF/, ""), basename(file))), ...env };
}

/**
 * Returns the assignments without `export`. Each is checked here, because it depends on Node's version which lines its
 * parser skips and how it treats text before a name.
 */
function extractAssignments(text: string, name: string): string {
  let lines = "";
  let at = 0;
  while (at < text.length) {
    const skippedText = matchAt(BLANK_OR_COMMENT, text, at);
    if (skippedText !== undefined) {
      at += Math.max(skippedText.length, 1);
      continue;
    }
    const start = at + (matchAt(EXPORT, text, at) ?? "").length;
    const end = findAssignmentEnd(text, start, name);
    lines += text.slice(start, end);
    at = end;
  }
  return lines;
}

function findAssignmentEnd(text: string, start: number, name: string): number {
  const variable = matchAt(NAME, text, start);
  if (variable === undefined)
    throw lineError(text, start, "this line does not have the form NAME=value", name);
  const value = start + variable.length;
  const quoted = matchAt(QUOTED, text, value);
  if (quoted === undefined) return value + (matchAt(LINE, text, value) ?? "").length;
  const afterQuote = value + quoted.length;
  const rest = matchAt(BLANK_OR_COMMENT, text, afterQuote);
  if (rest === undefined)
    throw lineError(text, afterQuote, "there is text after the closing quote", name);
  return afterQuote + rest.length;
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

function lineError(text: string, at: number, message: string, name: string): ConfigError {
  const line = text.slice(0, at).split("\n").length;
  return new ConfigError([{ key: "", line, message }], name);
}

function refuse(file: string, message: string): never {
  throw new ConfigError([{ key: "", message }], basename(file));
}
