/** Reads the files and parses them, before any schema applies. */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { sha } from "../files/sha.ts";
import { isRecord } from "../text/key-path.ts";
import { type Environment, readEnvFile, addVariables } from "./environment.ts";
import { ConfigError } from "./config-error.ts";
import { readText } from "./file.ts";
import { isBlank, type Node, parse, plainValue, SyntaxFault } from "./json5/parse.ts";
import { expandReferences } from "./references.ts";
import type { WorkerLink } from "../contract/workers.ts";
import type { Paths } from "../contract/index.ts";

export interface ConfigOptions {
  /** The path of the file; a missing file counts as empty. */
  file: string;
  env: Environment;
  /** `<home>/.env`: its variables come after `env`, and it is watched like the file itself. */
  envFile?: string;
  /** Unset variables do not prevent `set` from writing, because the gateway may run with other variables. */
  unsetAllowed?: boolean;
  /**
   * The link to other processes that follow the file: all of them apply a change or none does, and one writes at a
   * time.
   */
  link?: Pick<WorkerLink, "agree" | "workers"> | undefined;
  /** The file that stores the versions; without it none are stored. */
  historyFile?: string | undefined;
  /** The paths of the home, for the owners' checks. */
  paths?: Paths | undefined;
  names?: ((point: string) => readonly string[] | undefined) | undefined;
}

/** The texts of the files on disk. */
export interface Source {
  /** The configuration; undefined if there is none. */
  text: string | undefined;
  /** The text of `.env`, or why it must not be used. */
  variables: string | Error;
}

/** The parsed files, before any schema applies. */
export interface Reading {
  source: Source;
  node: Node;
  /** The content as it is written, with references unresolved. */
  raw: Record<string, unknown>;
  /** The variables with which references are resolved. */
  env: Environment;
}

/** Reads the files. Rejects if the configuration cannot be read. */
export async function readSource(options: ConfigOptions): Promise<Source> {
  return { text: await readText(options.file), variables: readVariables(options) };
}

/** The text of `.env`, or why it must not be used. */
export function readVariables({ envFile }: ConfigOptions): string | Error {
  try {
    return envFile ? readEnvFile(envFile) : "";
  } catch (error) {
    return error as Error;
  }
}

export function isSame(first: Source, second: Source): boolean {
  return (
    (first.text ?? "") === (second.text ?? "") &&
    String(first.variables) === String(second.variables)
  );
}

/** Identifies a state of the files, for the processes that share them. */
export const identifySource = ({ text = "", variables }: Source): string =>
  sha(`${text}\0${String(variables)}`);

/** Parses the texts. Throws a `ConfigError` with line and column if the text is not JSON5 or not an object. */
export function read(source: Source, { file, env, envFile }: ConfigOptions): Reading {
  const { text = "", variables } = source;
  if (variables instanceof Error) throw variables;
  const name = basename(file);
  const variablesInScope = envFile ? addVariables(env, envFile, variables) : env;
  try {
    const node = parse(isBlank(text) ? "{}" : text);
    const raw = plainValue(node);
    if (!isRecord(raw))
      throw new ConfigError([{ key: "", line: 1, message: "must be an object: { … }" }], name);
    return { source, node, raw, env: variablesInScope };
  } catch (error) {
    if (!(error instanceof SyntaxFault)) throw error;
    const { message, line, column } = error;
    throw new ConfigError([{ key: "", message, line, column }], name);
  }
}

/** Reads the file's content for commands that need few values and no schema; `{}` if there is no file. */
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

/** Whether the file contains the word, without evaluating it. Returns `fallback` if the file cannot be read. */
export function mentions(file: string, word: string, fallback: boolean): boolean {
  try {
    return readFileSync(file, "utf8").includes(word);
  } catch {
    return fallback;
  }
}

/** Replaces the `${NAME}` references in a value. Throws a `ConfigError` for the first that is not set. */
export function resolveReferences(value: unknown, env: Environment): unknown {
  const { value: expanded, problems } = expandReferences(value, env);
  if (problems[0]) throw new ConfigError([{ key: "", message: problems[0].message }]);
  return expanded;
}
