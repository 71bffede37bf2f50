/** The options that define a poll, and the request that they form. */
import type { CommandIO, OptionSpec } from "portico/command-line";
import { payloadFromOptions, scheduleFromText } from "portico/schedules";

const textOption = (description: string, value = "TEXT"): OptionSpec => ({
  type: "string",
  value,
  description,
});
const KINDS = ["feed", "json", "html", "http", "file"] as const;

export const options: Record<string, OptionSpec> = {
  name: textOption("The name of the poll", "NAME"),
  kind: {
    type: "string",
    choices: KINDS,
    description: "The kind of source (default: feed, or file with --path)",
  },
  url: textOption("The address of the source", "URL"),
  path: textOption(
    "The path of the source: a file or directory in the workspace or one of polls.roots",
    "PATH",
  ),
  header: {
    type: "list",
    value: "NAME:VALUE",
    description: "A request header; may be repeated",
  },
  method: {
    type: "string",
    choices: ["GET", "POST", "PUT", "QUERY"],
    description: "The method of the request (default: GET, or POST with a body)",
  },
  body: textOption(
    "The body of the request, such as a GraphQL query; a JSON object or list is sent as application/json",
  ),
  browser: {
    type: "boolean",
    description: "For html and http: check the page as the browser renders it",
  },
  items: textOption("For json: the path of the list, such as data.items", "PATH"),
  key: textOption("For json: the field that identifies an item, such as id", "PATH"),
  selector: textOption("For html: a CSS selector of the part to watch", "CSS"),
  ignore: {
    type: "list",
    value: "REGEX",
    description: "A regular expression for lines to ignore; may be repeated",
  },
  remove: {
    type: "list",
    value: "CSS",
    description: "For html: a CSS selector of parts to ignore; may be repeated",
  },
  match: textOption(
    "For a directory: only files whose name matches this pattern, such as *.csv",
    "GLOB",
  ),
  every: textOption("The interval between checks: 30s, 15m, 2h (default: 5m)", "TIME"),
  cron: textOption("Check by a cron expression", "EXPR"),
  tz: textOption("The time zone of the cron expression", "ZONE"),
  schedule: textOption(
    'Check by a schedule of any kind, written as one string: "0 9 * * *", "every 5m"',
  ),
  message: textOption(
    "Start an agent turn with this task for each new item; placeholders: {item.title}, {diff}, {url}, {count}, {name}",
  ),
  model: textOption("The model of the turn", "MODEL"),
  session: textOption("The session of the turn (default: a separate session)", "SESSION"),
  text: textOption("Queue this event for the next heartbeat"),
  now: {
    type: "boolean",
    description: "With --text: start a heartbeat at once instead of waiting for the next one",
  },
  hook: textOption("Emit this event for hooks", "EVENT"),
  "fire-on-first": {
    type: "boolean",
    description:
      "Report the items of the first check too; by default, the first check only remembers them",
  },
  "max-items": {
    type: "number",
    value: "N",
    description:
      "How many items of one check are reported separately; one summary reports the others",
  },
  "allow-private": {
    type: "boolean",
    description: "Allow addresses on private networks, including through redirects",
  },
  disabled: { type: "boolean", description: "Add the poll without enabling it" },
};

function sourceOf({ options: values }: CommandIO): Record<string, unknown> | undefined {
  const { url, path, items, key, selector, match, method } = values;
  const headers = values["header"] as string[] | undefined;
  const [ignore, remove] = [values["ignore"], values["remove"]];
  const browser = values["browser"] || undefined;
  const body = values["body"] === undefined ? undefined : parseJsonOrText(String(values["body"]));
  const parts = { url, path, items, key, selector, match, ignore, remove, method, body, browser };
  if (
    Object.values(parts).every((value) => value === undefined) &&
    headers === undefined &&
    values["kind"] === undefined
  )
    return undefined;
  return {
    kind: values["kind"] ?? (path === undefined ? "feed" : "file"),
    ...parts,
    headers: headers && Object.fromEntries(headers.map(parseHeader)),
  };
}

function parseJsonOrText(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : text;
  } catch {
    return text;
  }
}

function parseHeader(line: string): [string, string] {
  const colon = line.indexOf(":");
  if (colon < 1) throw new Error(`--header takes NAME:VALUE, not ${JSON.stringify(line)}.`);
  return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
}

function scheduleOf({ options: { cron, tz, schedule } }: CommandIO): unknown {
  if (cron !== undefined) return { kind: "cron", expr: cron, tz };
  if (schedule !== undefined) return scheduleFromText(String(schedule), tz as string | undefined);
  return tz === undefined ? undefined : { tz };
}

export function bodyOf(io: CommandIO, name: string | undefined): Record<string, unknown> {
  const { options: values } = io;
  return {
    name: name ?? values["name"],
    every: values["every"],
    schedule: scheduleOf(io),
    source: sourceOf(io),
    payload: payloadFromOptions(io),
    fireOnFirst: values["fire-on-first"],
    maxItems: values["max-items"],
    allowPrivateNetwork: values["allow-private"],
    status: values["disabled"] ? "disabled" : undefined,
  };
}
