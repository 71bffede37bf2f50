/** From the files' texts to what they say, before any schema is asked. */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { sha } from "../files/sha.ts";
import { isRecord } from "../text/key-path.ts";
import { type Environment, readEnvFile, withVariables } from "./environment.ts";
import { ConfigError } from "./config-error.ts";
import { readText } from "./file.ts";
import { isBlank, type Node, parse, plainValue, SyntaxFault } from "./json5/parse.ts";
import { expandReferences } from "./references.ts";
import type { WorkerLink } from "../contract/workers.ts";
import type { Paths } from "../contract/index.ts";

export interface ConfigOptions {
  /** The file; one that is not there counts as empty. */
  file: string;
  env: Environment;
  /** `<home>/.env`: looked up after `env`, and followed like the file itself. */
  envFile?: string;
  /** Unset variables do not prevent `set` from writing, because the gateway may run with other variables. */
  unsetAllowed?: boolean;
  /** Where several processes follow the file: a change is taken by all of them or by none, and one writes at a time. */
  link?: Pick<WorkerLink, "agree" | "workers"> | undefined;
  /** Where the versions of the file are kept; none are where it is absent. */
  historyFile?: string | undefined;
  /** For the owners' checks. */
  paths?: Paths | undefined;
  names?: ((point: string) => readonly string[] | undefined) | undefined;
}

/** The file on disk. */
export interface Source {
  /** The configuration; undefined if there is none. */
  text: string | undefined;
  /** The text of `.env`, or why it must not be used. */
  variables: string | Error;
}

/** What they say, before any schema is asked. */
export interface Reading {
  source: Source;
  node: Node;
  /** As it is written, references included. */
  raw: Record<string, unknown>;
  /** What references were looked up in. */
  env: Environment;
}

/** Rejects where the configuration cannot be read. */
export async function sourceOf(options: ConfigOptions): Promise<Source> {
  return { text: await readText(options.file), variables: variablesIn(options) };
}

/** The text of `.env`, or why it must not be used. */
export function variablesIn({ envFile }: ConfigOptions): string | Error {
  try {
    return envFile ? readEnvFile(envFile) : "";
  } catch (error) {
    return error as Error;
  }
}

export function isSame(one: Source, other: Source): boolean {
  return (
    (one.text ?? "") === (other.text ?? "") && String(one.variables) === String(other.variables)
  );
}

/** Names a state of the files, for the processes that share them. */
export const idOf = ({ text = "", variables }: Source): string =>
  sha(`${text}\0${String(variables)}`);

/** Throws a `ConfigError` with line and column where the text is not JSON5 or not an object. */
export function read(source: Source, { file, env, envFile }: ConfigOptions): Reading {
  const { text = "", variables } = source;
  if (variables instanceof Error) throw variables;
  const name = basename(file);
  const all = envFile ? withVariables(env, envFile, variables) : env;
  try {
    const node = parse(isBlank(text) ? "{}" : text);
    const raw = plainValue(node);
    if (!isRecord(raw))
      throw new ConfigError([{ key: "", line: 1, message: "must be an object: { … }" }], name);
    return { source, node, raw, env: all };
  } catch (error) {
    if (!(error instanceof SyntaxFault)) throw error;
    const { message, line, column } = error;
    throw new ConfigError([{ key: "", message, line, column }], name);
  }
}

/** What the file says, for commands that need a value or two and no schema; `{}` where there is no file. */
export function readConfigFile(file: string): Record<string, unknown> {
  try {
    return read({ text: readFileSync(file, "utf8"), variables: "" }, { file, env: {} }).raw;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (error instanceof ConfigError) throw error;
    if (code === "ENOENT") return {};
    throw new ConfigError([{ key: "", message: `it cannot be read (${code})` }], basename(file));
  }
}

/** Whether the file has the word, before anything of it is evaluated; one that cannot be read may have it, or not. */
export function mentions(file: string, word: string, unread: boolean): boolean {
  try {
    return readFileSync(file, "utf8").includes(word);
  } catch {
    return unread;
  }
}

/** The value with its `${NAME}` references replaced. Throws a `ConfigError` for the first that is not set. */
export function withoutReferences(value: unknown, env: Environment): unknown {
  const { value: expanded, problems } = expandReferences(value, env);
  if (problems[0]) throw new ConfigError([{ key: "", message: problems[0].message }]);
  return expanded;
}
