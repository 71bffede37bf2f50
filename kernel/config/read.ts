/** A light look at the configuration, for command words that need a value or two and no schema. */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { isRecord } from "../text/key-path.ts";
import { ConfigError } from "./error.ts";
import { isBlank, parse, SyntaxFault, plainValue } from "./json5.ts";
import { expandReferences as expand } from "./references.ts";

/** What the file says, without defaults, references as they are written; `{}` where there is no file. */
export function readConfigFile(file: string): Record<string, unknown> {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw new ConfigError(
      [{ key: "", message: `it cannot be read (${(error as NodeJS.ErrnoException).code})` }],
      basename(file),
    );
  }
  try {
    const value = isBlank(text) ? {} : plainValue(parse(text));
    return isRecord(value) ? value : {};
  } catch (error) {
    if (!(error instanceof SyntaxFault)) throw error;
    throw new ConfigError(
      [{ key: "", message: error.message, line: error.line, column: error.column }],
      basename(file),
    );
  }
}

/** The value with its `${NAME}` references replaced. Throws a `ConfigError` for the first that is not set. */
export function expandReferences(value: unknown, env: Record<string, string | undefined>): unknown {
  const { value: expanded, problems } = expand(value, env);
  if (problems[0]) throw new ConfigError([{ key: "", message: problems[0].message }]);
  return expanded;
}
