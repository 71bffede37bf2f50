/** The variables that the configuration may refer to: the process's own, and below them those of `<home>/.env`. */
import { readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { parseEnv } from "node:util";
import { ConfigError } from "./error.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Where a home's variables stand. */
export const envFileIn = (home: string): string => join(home, ".env");

/** A blank line, a comment, or `NAME=value`, whose quoted value may go on over further lines. */
const LINE =
  /[^\S\n]*(?:#[^\n]*|(?:export[^\S\n]+)?[A-Za-z_]\w*[^\S\n]*=[^\S\n]*(?:"[^"]*"|'[^']*'|`[^`]*`)?[^\n]*)?(?:\n|$)/y;

/**
 * The file's text; empty where there is none. Throws a `ConfigError` where others than its owner may read or write it:
 * it holds secrets.
 */
export function readEnvFile(file: string): string {
  try {
    const { mode, uid } = statSync(file);
    const mine = process.getuid?.() ?? uid;
    if ((mode & 0o077) !== 0) refuse(file, `others may read it: run chmod 600 ${file}`);
    if (uid !== mine && uid !== 0) refuse(file, "it belongs to another user");
    return readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (error instanceof ConfigError) throw error;
    return code === "ENOENT" ? "" : refuse(file, `it cannot be read (${code})`);
  }
}

/** Throws a `ConfigError` for a line that is not `NAME=value`, without showing it. */
export function withVariables(
  env: Environment,
  file: string,
  text = readEnvFile(file),
): Environment {
  const plain = text.replace(/^\uFEFF/, "");
  // Which lines the parser passes over depends on Node's version: all of them are checked first.
  for (let at = 0; at < plain.length; at = LINE.lastIndex) {
    LINE.lastIndex = at;
    if (LINE.test(plain)) continue;
    const line = plain.slice(0, at).split("\n").length;
    throw new ConfigError(
      [{ key: "", line, message: "this line is not NAME=value" }],
      basename(file),
    );
  }
  return { ...parseEnv(plain), ...env };
}

function refuse(file: string, message: string): never {
  throw new ConfigError([{ key: "", message }], basename(file));
}
