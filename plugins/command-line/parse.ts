/** Turns words of the command line into a command with its options and arguments. */
import { parseArgs } from "node:util";
import { didYouMean } from "portico";
import type { ArgSpec, Command, OptionSpec } from "./command.ts";

/** Wrong use of the command line: shown in one line, exit code 2. */
export class UsageError extends Error {
  override name = "UsageError";
}

/** Options that every command takes. */
export const commonOptions: Record<string, OptionSpec> = {
  url: {
    type: "string",
    value: "URL",
    description: "The gateway's address (default: the gateway that runs from this home)",
  },
  token: {
    type: "string",
    value: "T",
    description: "The gateway's token (default: the token in this home's configuration)",
  },
  json: { type: "boolean", description: "Print JSON" },
  home: {
    type: "string",
    value: "DIR",
    description: "The home directory of Portico (default: $PORTICO_HOME or ~/.portico)",
  },
  config: {
    type: "string",
    value: "FILE",
    description: "The configuration file (default: <home>/portico.json)",
  },
  help: { type: "boolean", short: "h", description: "Show this help" },
};

type OptionValue = string | number | boolean | string[] | undefined;
export interface Parsed {
  options: Record<string, OptionValue>;
  /** The gateway's address, where it was given. */
  gatewayUrl?: string | undefined;
  args: Record<string, string | undefined> & { rest?: string[] };
}

/** Follows the words down the tree of subcommands; `before` is how many of the words left stood before its name. */
export function findCommand(
  root: Command,
  words: readonly string[],
): { command: Command; path: string[]; words: string[]; before: number } {
  let command = root;
  const path = [root.name];
  let remainingWords = [...words];
  let before = 0;
  while (command.commands?.length) {
    // Where the words may be the command's own arguments, only the first one can name a subcommand.
    const at = takesWords(command) ? 0 : firstWord(remainingWords, command.options);
    const word = remainingWords[at];
    const next = command.commands.find((sub) => sub.name === word);
    if (!next) {
      if (word === undefined || isOwnWord(command, word)) break;
      throw unknownSubcommand(command, word, path);
    }
    remainingWords = remainingWords.toSpliced(at, 1);
    before = at;
    command = next;
    path.push(next.name);
  }
  return { command, path, words: remainingWords, before };
}

const takesWords = ({ run, args = [] }: Command): boolean => run !== undefined && args.length > 0;

/** Whether the command itself reads a word that names none of its subcommands. */
const isOwnWord = (command: Command, word: string): boolean =>
  takesWords(command) || (command.run !== undefined && word.startsWith("-"));

function unknownSubcommand(
  { commands = [], options }: Command,
  word: string,
  path: readonly string[],
): UsageError {
  if (!word.startsWith("-")) {
    const names = commands.map(({ name }) => name);
    return unknownWord(word, names, path);
  }
  return unknownOption(word, Object.keys({ ...commonOptions, ...options }), ["portico", ...path]);
}

/** Where the first word stands that is neither an option nor the value of one; an option that is not known counts as one. */
export function firstWord(
  words: readonly string[],
  own: Readonly<Record<string, OptionSpec>> = {},
): number {
  const specs = new Map(Object.entries({ ...commonOptions, ...own }));
  for (const spec of [...specs.values()]) if (spec.short) specs.set(spec.short, spec);
  let at = 0;
  for (;;) {
    const [, name = "", value] = /^--?([^=]+)(=.*)?$/s.exec(words[at] ?? "") ?? [];
    const spec = specs.get(name);
    if (!spec) return at;
    at += spec.type === "boolean" || value !== undefined ? 1 : 2;
  }
}

export function unknownWord(
  word: string,
  known: readonly string[],
  path: readonly string[],
): UsageError {
  const near = didYouMean(word, known);
  const hint = near ? ` Did you mean ${near}?` : "";
  return new UsageError(
    `There is no command "${[...path, word].join(" ")}".${hint} \`portico --help\` lists the commands.`,
  );
}

export function parseWords(
  command: Command,
  path: readonly string[],
  words: readonly string[],
  before = 0,
): Parsed {
  const specs: Record<string, OptionSpec> = { ...commonOptions, ...command.options };
  const { values, positionals, tokens } = parseArgs({
    args: words.map((word) => (NEGATIVE.test(word) ? NUMBER + word : word)),
    strict: false,
    allowPositionals: true,
    allowNegative: true,
    tokens: true,
    options: Object.fromEntries(
      Object.entries(specs).map(([name, spec]) => [
        name,
        {
          type: spec.type === "boolean" ? ("boolean" as const) : ("string" as const),
          multiple: spec.type === "list",
          ...(spec.short && { short: spec.short }),
        },
      ]),
    ),
  });
  const optionTokens = tokens.filter((token) => token.kind === "option");
  for (const token of optionTokens) checkOption(token, specs, path);
  const options: Record<string, OptionValue> = {};
  for (const [name, value] of Object.entries(values)) {
    const spec = specs[name];
    if (spec) options[name] = typedValue(name, spec, plain(value as string | boolean | string[]));
  }
  let gatewayUrl = options["url"] as string | undefined;
  if (command.options?.["url"] !== undefined) {
    // The command has a `--url` of its own (a page to watch): the gateway's stands before the command's name.
    const urls = optionTokens.filter(({ name }) => name === "url");
    gatewayUrl = urls.findLast(({ index }) => index < before)?.value;
    options["url"] = urls.findLast(({ index }) => index >= before)?.value;
  }
  return {
    options,
    gatewayUrl,
    args: options["help"] ? {} : nameArgs(command.args ?? [], plain(positionals), path),
  };
}

/** Refuses an option that the command does not have, and one whose value is missing. */
function checkOption(
  { name, rawName, value }: { name: string; rawName: string; value?: string | undefined },
  specs: Readonly<Record<string, OptionSpec>>,
  path: readonly string[],
): void {
  const spec = specs[name] ?? specs[name.replace(/^no-/, "")];
  if (!spec) throw unknownOption(rawName, Object.keys(specs), path);
  if (spec.type !== "boolean" && value === undefined)
    throw new UsageError(`${rawName} needs a value: ${rawName} ${spec.value ?? "VALUE"}.`);
}

/** A latitude, a priority: a value, and no option that begins with a digit. */
const NEGATIVE = /^-(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
/** Stands before such a word while options are looked for. */
const NUMBER = "\0";

function plain<T extends string | boolean | readonly string[]>(value: T): T {
  const one = (word: string): string =>
    word.startsWith(NUMBER) ? word.slice(NUMBER.length) : word;
  if (typeof value === "string") return one(value) as T;
  return (Array.isArray(value) ? value.map(one) : value) as T;
}

function unknownOption(
  option: string,
  known: readonly string[],
  path: readonly string[],
): UsageError {
  const near = didYouMean(option.replace(/^-+/, ""), known);
  const hint = near ? ` Did you mean --${near}?` : "";
  return new UsageError(
    `${path.join(" ")} has no option ${option}.${hint} See ${path.join(" ")} --help.`,
  );
}

/** `--headless=false`, as other programs write `--no-headless`. */
function switchValue(name: string, value: string): boolean {
  if (value === "true" || value === "false") return value === "true";
  throw new UsageError(`--${name} takes no value. Write --${name} or --no-${name}.`);
}

function typedValue(
  name: string,
  spec: OptionSpec,
  value: string | boolean | string[],
): OptionValue {
  if (spec.type === "number") {
    const number = Number(value);
    if (value === "" || !Number.isFinite(number))
      throw new UsageError(`--${name} takes a number, not "${value}".`);
    return number;
  }
  if (spec.type === "boolean" && typeof value === "string") return switchValue(name, value);
  if (spec.choices && !spec.choices.includes(String(value))) {
    throw new UsageError(`--${name} takes ${spec.choices.join(", ")}, not "${value}".`);
  }
  return value;
}

function nameArgs(
  specs: readonly ArgSpec[],
  words: readonly string[],
  path: readonly string[],
): Parsed["args"] {
  const args: Record<string, string | undefined> = {};
  const missing = specs.find((spec, at) => !spec.optional && words[at] === undefined);
  if (missing)
    throw new UsageError(
      `${path.join(" ")} needs ${missing.name.toUpperCase()}. See ${path.join(" ")} --help.`,
    );
  const restAt = specs.findIndex((spec) => spec.rest);
  if (restAt < 0 && words.length > specs.length) {
    throw new UsageError(
      `${path.join(" ")} takes no argument "${words[specs.length]}". See ${path.join(" ")} --help.`,
    );
  }
  for (const [at, spec] of specs.entries())
    args[spec.name] = spec.rest ? words.slice(at).join(" ") || undefined : words[at];
  return restAt < 0
    ? (args as Parsed["args"])
    : (Object.assign(args, { rest: words.slice(restAt) }) as unknown as Parsed["args"]);
}

export function checkPort(port: number | undefined): number | undefined {
  if (port === undefined || (Number.isInteger(port) && port >= 0 && port <= 65535)) return port;
  throw new UsageError(`--port takes a number from 0 to 65535, not ${port}.`);
}
