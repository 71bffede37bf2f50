/** Parses the words of the command line into a command with its options and arguments. */
import { parseArgs } from "node:util";
import { didYouMean } from "portico";
import type { ArgSpec, Command, OptionSpec } from "./command.ts";

/** The command line was used incorrectly. The message is printed in one line, and the exit code is 2. */
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
  /** The gateway's address, if the user passed one. */
  gatewayUrl?: string | undefined;
  args: Record<string, string | undefined> & { rest?: string[] };
}

/** Finds the subcommand that the words name. `wordsBefore` is the number of remaining words that precede its name. */
export function findCommand(
  root: Command,
  words: readonly string[],
): { command: Command; path: string[]; words: string[]; wordsBefore: number } {
  let command = root;
  const path = [root.name];
  let remainingWords = [...words];
  let wordsBefore = 0;
  while (command.commands?.length) {
    // If the words may be the command's own arguments, only the first word can name a subcommand.
    const at = hasArguments(command) ? 0 : indexOfFirstWord(remainingWords, command.options);
    const word = remainingWords[at];
    const next = command.commands.find((sub) => sub.name === word);
    if (!next) {
      if (word === undefined || acceptsWord(command, word)) break;
      throw unknownSubcommandError(command, word, path);
    }
    remainingWords = remainingWords.toSpliced(at, 1);
    wordsBefore = at;
    command = next;
    path.push(next.name);
  }
  return { command, path, words: remainingWords, wordsBefore };
}

const hasArguments = ({ run, args = [] }: Command): boolean => run !== undefined && args.length > 0;

/** True if the command itself accepts a word that names none of its subcommands. */
const acceptsWord = (command: Command, word: string): boolean =>
  hasArguments(command) || (command.run !== undefined && word.startsWith("-"));

function unknownSubcommandError(
  { commands = [], options }: Command,
  word: string,
  path: readonly string[],
): UsageError {
  if (!word.startsWith("-")) {
    const names = commands.map(({ name }) => name);
    return unknownCommandError(word, names, path);
  }
  return unknownOptionError(word, Object.keys({ ...commonOptions, ...options }), [
    "portico",
    ...path,
  ]);
}

/** Returns the index of the first word that is neither a known option nor the value of one. */
export function indexOfFirstWord(
  words: readonly string[],
  commandOptions: Readonly<Record<string, OptionSpec>> = {},
): number {
  const specs = new Map(Object.entries({ ...commonOptions, ...commandOptions }));
  for (const spec of [...specs.values()]) if (spec.short) specs.set(spec.short, spec);
  let at = 0;
  for (;;) {
    const [, name = "", value] = /^--?([^=]+)(=.*)?$/s.exec(words[at] ?? "") ?? [];
    const spec = specs.get(name);
    if (!spec) return at;
    at += spec.type === "boolean" || value !== undefined ? 1 : 2;
  }
}

export function unknownCommandError(
  word: string,
  known: readonly string[],
  path: readonly string[],
): UsageError {
  const suggestion = didYouMean(word, known);
  const hint = suggestion ? ` Did you mean ${suggestion}?` : "";
  return new UsageError(
    `There is no command "${[...path, word].join(" ")}".${hint} \`portico --help\` lists the commands.`,
  );
}

export function parseWords(
  command: Command,
  path: readonly string[],
  words: readonly string[],
  wordsBefore = 0,
): Parsed {
  const specs: Record<string, OptionSpec> = { ...commonOptions, ...command.options };
  const { values, positionals, tokens } = parseArgs({
    args: words.map((word) => (NEGATIVE_NUMBER.test(word) ? NUMBER_PREFIX + word : word)),
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
    if (spec)
      options[name] = parseOption(name, spec, removePrefixes(value as string | boolean | string[]));
  }
  let gatewayUrl = options["url"] as string | undefined;
  if (command.options?.["url"] !== undefined) {
    // The command has its own `--url` (a page to watch), so the gateway's must precede the command's name.
    const urls = optionTokens.filter(({ name }) => name === "url");
    gatewayUrl = urls.findLast(({ index }) => index < wordsBefore)?.value;
    options["url"] = urls.findLast(({ index }) => index >= wordsBefore)?.value;
  }
  return {
    options,
    gatewayUrl,
    args: options["help"] ? {} : nameArgs(command.args ?? [], removePrefixes(positionals), path),
  };
}

/** Throws if the command does not have the option, or if its value is missing. */
function checkOption(
  { name, rawName, value }: { name: string; rawName: string; value?: string | undefined },
  specs: Readonly<Record<string, OptionSpec>>,
  path: readonly string[],
): void {
  const spec = specs[name] ?? specs[name.replace(/^no-/, "")];
  if (!spec) throw unknownOptionError(rawName, Object.keys(specs), path);
  if (spec.type !== "boolean" && value === undefined)
    throw new UsageError(`${rawName} needs a value: ${rawName} ${spec.value ?? "VALUE"}.`);
}

/** Matches a negative number, which is a value (a latitude, a priority) and not an option. */
const NEGATIVE_NUMBER = /^-(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
/** The prefix that hides negative numbers from `parseArgs`. */
const NUMBER_PREFIX = "\0";

function removePrefixes<T extends string | boolean | readonly string[]>(value: T): T {
  const removePrefix = (word: string): string =>
    word.startsWith(NUMBER_PREFIX) ? word.slice(NUMBER_PREFIX.length) : word;
  if (typeof value === "string") return removePrefix(value) as T;
  return (Array.isArray(value) ? value.map(removePrefix) : value) as T;
}

function unknownOptionError(
  option: string,
  known: readonly string[],
  path: readonly string[],
): UsageError {
  const suggestion = didYouMean(option.replace(/^-+/, ""), known);
  const hint = suggestion ? ` Did you mean --${suggestion}?` : "";
  return new UsageError(
    `${path.join(" ")} has no option ${option}.${hint} See ${path.join(" ")} --help.`,
  );
}

/** Parses the value in `--headless=false`, another form of `--no-headless`. */
function parseSwitch(name: string, value: string): boolean {
  if (value === "true" || value === "false") return value === "true";
  throw new UsageError(`--${name} takes no value. Write --${name} or --no-${name}.`);
}

function parseOption(
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
  if (spec.type === "boolean" && typeof value === "string") return parseSwitch(name, value);
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
