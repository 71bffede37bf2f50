/** From the file's text to what it says, before any schema is asked. */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { isRecord } from "../text/key-path.ts";
import { ConfigError } from "./error.ts";
import { isBlank, type Node, parse, plainValue, SyntaxFault } from "./json5.ts";
import { type Expanded, expandReferences } from "./references.ts";

export interface Reading extends Expanded {
  text: string;
  node: Node;
  /** As it is written, references included. */
  raw: Record<string, unknown>;
}

/** Throws a `ConfigError` with line and column where the text is not JSON5 or not an object. */
export function read(text: string, env: Record<string, string | undefined>, name: string): Reading {
  try {
    const node = parse(isBlank(text) ? "{}" : text);
    const raw = plainValue(node);
    if (!isRecord(raw)) throw new ConfigError([{ key: "", line: 1, message: "must be an object: { … }" }], name);
    return { text, node, raw, ...expandReferences(raw, env) };
  } catch (error) {
    if (!(error instanceof SyntaxFault)) throw error;
    const { message, line, column } = error;
    throw new ConfigError([{ key: "", message, line, column }], name);
  }
}

/** What the file says, for commands that need a value or two and no schema; `{}` where there is no file. */
export function readConfigFile(file: string): Record<string, unknown> {
  const name = basename(file);
  try {
    return read(readFileSync(file, "utf8"), {}, name).raw;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (error instanceof ConfigError) throw error;
    if (code === "ENOENT") return {};
    throw new ConfigError([{ key: "", message: `it cannot be read (${code})` }], name);
  }
}

/** The value with its `${NAME}` references replaced. Throws a `ConfigError` for the first that is not set. */
export function withoutReferences(value: unknown, env: Record<string, string | undefined>): unknown {
  const { value: expanded, problems } = expandReferences(value, env);
  if (problems[0]) throw new ConfigError([{ key: "", message: problems[0].message }]);
  return expanded;
}
