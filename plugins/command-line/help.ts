/** The help of commands: purpose, usage, and examples to copy. */
import type { Command, OptionSpec } from "./command.ts";
import { commonOptions } from "./parse.ts";

const OWN_URL_HINT = "; put --url before the command's name to pass the gateway's address";

export function helpFor(command: Command, path: readonly string[]): string {
  const lines: string[] = [];
  if (command.summary) lines.push(command.summary, "");
  lines.push(`Usage: ${formatUsage(command, path)}`);
  if (command.description) lines.push("", command.description.trim());
  if (command.commands?.length) {
    lines.push(
      "",
      "Commands:",
      ...formatColumns(command.commands.map((sub) => [signature(sub), sub.summary])),
    );
  }
  if (command.args?.some((arg) => arg.description)) {
    lines.push(
      "",
      "Arguments:",
      ...formatColumns(command.args.map((arg) => [arg.name.toUpperCase(), arg.description ?? ""])),
    );
  }
  // A command's own option replaces the common one of that name. For `--url`, the help says how to pass the gateway's
  // address.
  const ownOptions = Object.entries(command.options ?? {}).map(
    ([name, spec]): [string, OptionSpec] =>
      name === "url"
        ? [name, { ...spec, description: `${spec.description}${OWN_URL_HINT}` }]
        : [name, spec],
  );
  if (ownOptions.length) lines.push("", "Options:", ...formatColumns(ownOptions.map(optionRow)));
  const common = Object.entries(commonOptions).filter(
    ([name]) => !Object.hasOwn(command.options ?? {}, name),
  );
  if (command.run) lines.push("", "Common options:", ...formatColumns(common.map(optionRow)));
  if (command.examples?.length)
    lines.push("", "Examples:", ...command.examples.map((example) => `  ${example}`));
  if (command.commands?.length) lines.push("", `\`${path.join(" ")} COMMAND --help\` shows more.`);
  return lines.join("\n");
}

/** Returns the help of the bare command. `steps` are lines to copy, each with its explanation. */
export function helpOverview(
  version: string,
  commands: readonly Command[],
  steps: readonly (readonly string[])[],
): string {
  const allSteps = [
    ["portico start", "run the gateway, and print its address and token"],
    ...steps,
    ["portico status", "show what is running, and what is wrong"],
  ];
  return [
    `Portico ${version}: a gateway in front of your AI models and your agent.`,
    "",
    "Usage: portico COMMAND [options]",
    "",
    "Commands:",
    ...formatColumns(commands.map(({ name, summary }) => [name, summary])),
    "",
    "Common options:",
    ...formatColumns(
      Object.entries(commonOptions).map(([name, spec]) => [
        `--${name}${spec.value ? ` ${spec.value}` : ""}`,
        spec.description,
      ]),
    ),
    "",
    "First steps:",
    ...allSteps.map(([line = "", what]) => `  ${line.padEnd(50)}  # ${what}`),
  ].join("\n");
}

/** Formats two columns with a margin. The terminal wraps the second one. */
export function formatColumns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.min(34, Math.max(0, ...rows.map(([first]) => first.length)));
  return rows.map(([first, second]) => `  ${first.padEnd(width)}  ${second}`.trimEnd());
}

function formatUsage(command: Command, path: readonly string[]): string {
  const words = [...path];
  if (command.commands?.length && !command.run) words.push("COMMAND");
  for (const arg of command.args ?? []) words.push(argWord(arg));
  if (command.run) words.push("[options]");
  return words.join(" ");
}

function signature(command: Command): string {
  return [command.name, ...(command.args ?? []).map(argWord)].join(" ");
}

function argWord(arg: { name: string; optional?: boolean; rest?: boolean }): string {
  const word = arg.name.toUpperCase() + (arg.rest ? "…" : "");
  return arg.optional ? `[${word}]` : word;
}

function optionRow([name, spec]: [string, OptionSpec]): [string, string] {
  const short = spec.short ? `-${spec.short}, ` : "";
  const value =
    spec.type === "boolean" ? "" : ` ${spec.value ?? (spec.type === "number" ? "N" : "VALUE")}`;
  const choices = spec.choices ? ` (${spec.choices.join(", ")})` : "";
  return [`${short}--${name}${value}`, spec.description + choices];
}
