/**
 * Generates reference pages in Markdown from the declarations of plugins: configuration, events, commands and error
 * codes.
 */
import type { TSchema } from "@sinclair/typebox";
import { kernelSchemas } from "../../kernel/config/schema.ts";
import { entriesOf, statusOf } from "../../kernel/errors.ts";
import { kernelEvents } from "../../kernel/gateway/events.ts";
import type { PluginDefinition } from "../../kernel/contract/index.ts";
import type { Command } from "../../plugins/command-line/command.ts";

/** Returns the Markdown of each page by name. */
export async function referencePages(
  definitions: readonly PluginDefinition[],
): Promise<Record<string, string>> {
  return {
    configuration: configurationPage(definitions),
    events: eventsPage(definitions),
    commands: await commandsPage(definitions),
    errors: errorsPage(definitions),
  };
}

function configurationPage(definitions: readonly PluginDefinition[]): string {
  const sections = [
    ...Object.entries(kernelSchemas as Record<string, TSchema>),
    ...definitions.flatMap(({ config }) =>
      Object.entries((config ?? {}) as Record<string, TSchema>),
    ),
  ].sort(([a], [b]) => a.localeCompare(b));
  const rows = sections.flatMap(([path, schema]) => listKeys(path, schema));
  const intro =
    "Every key of `portico.json`, as the kernel and the plugins declare them. `*` stands for a name of yours. `portico config schema` prints the same as JSON Schema.";
  const table = rows.map(({ path, type, fallback, description }) => [
    code(path),
    type,
    fallback,
    description,
  ]);
  return `# Configuration keys\n\n${intro}\n\n${renderTable(["key", "type", "default", "what it is"], table)}`;
}

interface KeyRow {
  path: string;
  type: string;
  fallback: string;
  description: string;
}

/** Returns the keys of a schema and of the objects in it. */
function listKeys(path: string, schema: TSchema): KeyRow[] {
  const properties = schema["properties"] as Record<string, TSchema> | undefined;
  const patterns = schema["patternProperties"] as Record<string, TSchema> | undefined;
  const values = patterns && Object.values(patterns)[0];
  if (values) return listKeys(`${path}.*`, values);
  if (!properties || Object.keys(properties).length === 0) return [createRow(path, schema)];
  return Object.entries(properties).flatMap(([name, property]) =>
    listKeys(`${path}.${name}`, property),
  );
}

function createRow(path: string, schema: TSchema): KeyRow {
  const fallback = schema["default"];
  return {
    path,
    type: describeType(schema),
    fallback: fallback === undefined ? "" : code(JSON.stringify(fallback)),
    description: String(schema["description"] ?? ""),
  };
}

function describeType(schema: TSchema): string {
  if (schema["const"] !== undefined) return code(JSON.stringify(schema["const"]));
  const options = (schema["anyOf"] ?? schema["oneOf"]) as TSchema[] | undefined;
  if (options) return [...new Set(options.map(describeType))].slice(0, 12).join(" or ");
  if (schema["type"] === "array")
    return `list of ${describeType((schema["items"] ?? {}) as TSchema)}`;
  return String(schema["type"] ?? "any");
}

function eventsPage(definitions: readonly PluginDefinition[]): string {
  const tables = [kernelEvents, ...definitions.map(({ events }) => events ?? {})];
  const events = tables
    .flatMap((table) => Object.entries(table as Record<string, EventText>))
    .sort(([a], [b]) => a.localeCompare(b));
  const sections = events.map(([name, { mode, description = "", changes = [], sample }]) => {
    const change = changes.length > 0 ? ` Hooks may change ${changes.map(code).join(", ")}.` : "";
    const example = `\`\`\`json\n${JSON.stringify(sample ?? {}, null, 2)}\n\`\`\``;
    return `## ${name}\n\n${description} (${code(mode)})${change}\n\n${example}`;
  });
  const intro =
    "Events that hooks and plugins can handle. `notify` waits for no handler, `change` lets handlers change fields, `answer` also lets a handler reply or refuse.";
  return `# Events\n\n${intro}\n\n${sections.join("\n\n")}`;
}

interface EventText {
  mode: string;
  description?: string;
  changes?: readonly string[];
  sample?: unknown;
}

async function commandsPage(definitions: readonly PluginDefinition[]): Promise<string> {
  const lazy = definitions.flatMap(({ commands }) => Object.values(commands ?? {}));
  const commands = (await Promise.all(lazy.map((load) => load()))).map(
    ({ default: command }) => command as Command,
  );
  const sections = commands
    .sort((a, b) => a.name.localeCompare(b.name))
    .map((command) => commandSection(command, "portico"));
  const intro =
    "Every command takes `--json`; those that ask the running gateway also take `--url` and `--token`. `portico COMMAND --help` prints the same.";
  return `# Commands\n\n${intro}\n\n${sections.join("\n\n")}`;
}

function commandSection(command: Command, prefix: string): string {
  const line = formatUsage(command, prefix);
  const rows = (command.commands ?? []).map((sub) => [
    code(formatUsage(sub, `${prefix} ${command.name}`)),
    sub.summary,
  ]);
  const options = Object.entries(command.options ?? {}).map(([name, { value, description }]) => [
    code(`--${name}${value ? ` ${value}` : ""}`),
    description,
  ]);
  const parts = [
    `## portico ${command.name}`,
    `${command.summary}.`,
    command.description ?? "",
    rows.length > 0 ? renderTable(["command", "what it does"], rows) : `\`\`\`sh\n${line}\n\`\`\``,
    options.length > 0 ? renderTable(["option", "what it does"], options) : "",
  ];
  return parts.filter((part) => part !== "").join("\n\n");
}

function formatUsage({ name, args = [] }: Command, prefix: string): string {
  const words = args.map((arg) => {
    const word = arg.name.toUpperCase();
    return arg.optional ? `[${word}]` : word;
  });
  return [prefix, name, ...words].join(" ");
}

function errorsPage(definitions: readonly PluginDefinition[]): string {
  const rows = definitions.flatMap(({ name, errors }) =>
    entriesOf(errors ?? {}).map((entry) => [
      code(entry.code),
      String(entry.status ?? statusOf(entry.code)),
      entry.message,
      `[${name}](/docs/plugins/${name})`,
    ]),
  );
  const intro =
    "Errors that plugins declare: the code, the HTTP status and the message. `{name}` stands for a value of the request. The forms of errors are in [Configuration](/docs/configuration).";
  const sorted = rows.sort(([a = ""], [b = ""]) => a.localeCompare(b));
  return `# Error codes\n\n${intro}\n\n${renderTable(["code", "status", "message", "plugin"], sorted)}`;
}

const code = (text: string): string => `\`${text.replaceAll("`", "'")}\``;

function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}
