/** The variables that the configuration may refer to: the process's own, and below them those of `<home>/.env`. */
import { readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { parseEnv } from "node:util";
import { ConfigError } from "./error.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Where a home's variables stand. */
export const envFileIn = (home: string): string => join(home, ".env");

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

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
export function withVariables(env: Environment, file: string, text = readEnvFile(file)): Environment {
  const own = parseEnv(text.replace(/^\uFEFF/, ""));
  for (const name of Object.keys(own)) {
    if (NAME.test(name)) continue;
    const line = text.slice(0, text.indexOf(name)).split("\n").length;
    throw new ConfigError([{ key: "", line, message: "this line is not NAME=value" }], basename(file));
  }
  return { ...own, ...env };
}

function refuse(file: string, message: string): never {
  throw new ConfigError([{ key: "", message }], basename(file));
}
