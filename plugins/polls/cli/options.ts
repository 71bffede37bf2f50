/** The options that make a poll, and the request that they amount to. */
import type { CommandIO, OptionSpec } from "portico/command-line";
import { payloadFromOptions, scheduleFromText } from "portico/schedules";

const text = (description: string, value = "TEXT"): OptionSpec => ({
  type: "string",
  value,
  description,
});
const KINDS = ["feed", "json", "html", "http", "file"] as const;

export const options: Record<string, OptionSpec> = {
  name: text("The name of the poll", "NAME"),
  kind: {
    type: "string",
    choices: KINDS,
    description: "The kind of source (default: feed, or file with --path)",
  },
  url: text("The address of the source", "URL"),
  path: text(
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
  body: text("The body of the request, such as a GraphQL query; JSON is sent as JSON"),
  browser: {
    type: "boolean",
    description: "For html and http: check the page as the browser renders it",
  },
  items: text("For json: the path of the list, such as data.items", "PATH"),
  key: text("For json: the field that identifies an item, such as id", "PATH"),
  selector: text("For html: a selector of the part to watch", "CSS"),
  ignore: {
    type: "list",
    value: "REGEX",
    description: "A regular expression for lines to ignore; may be repeated",
  },
  remove: {
    type: "list",
    value: "CSS",
    description: "For html: a selector of parts to ignore; may be repeated",
  },
  match: text("For a directory: only files whose name matches", "GLOB"),
  every: text("The interval between checks: 30s, 15m, 2h (default: 5m)", "TIME"),
  cron: text("Check at the dates of a cron expression", "EXPR"),
  tz: text("The time zone of the cron expression", "ZONE"),
  schedule: text('Check by a schedule of any kind, as one string: "0 9 * * *", "every 5m"'),
  message: text(
    "Start an agent turn with this task for each new item; placeholders: {item.title}, {diff}, {url}, {count}, {name}",
  ),
  model: text("The model of the turn", "MODEL"),
  session: text("The session of the turn (default: a separate session)", "SESSION"),
  text: text("Queue this event for the next heartbeat"),
  now: { type: "boolean", description: "Start a heartbeat at once for the event of --text" },
  hook: text("Emit this event for hooks", "EVENT"),
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

function sourceOf({ options: given }: CommandIO): Record<string, unknown> | undefined {
  const { url, path, items, key, selector, match, method } = given;
  const headers = given["header"] as string[] | undefined;
  const [ignore, remove] = [given["ignore"], given["remove"]];
  const browser = given["browser"] || undefined;
  const body = given["body"] === undefined ? undefined : jsonOr(String(given["body"]));
  const parts = { url, path, items, key, selector, match, ignore, remove, method, body, browser };
  if (
    Object.values(parts).every((value) => value === undefined) &&
    headers === undefined &&
    given["kind"] === undefined
  )
    return undefined;
  return {
    kind: given["kind"] ?? (path === undefined ? "feed" : "file"),
    ...parts,
    headers: headers && Object.fromEntries(headers.map(header)),
  };
}

function jsonOr(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : text;
  } catch {
    return text;
  }
}

function header(line: string): [string, string] {
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
  const { options: given } = io;
  return {
    name: name ?? given["name"],
    every: given["every"],
    schedule: scheduleOf(io),
    source: sourceOf(io),
    payload: payloadFromOptions(io),
    fireOnFirst: given["fire-on-first"],
    maxItems: given["max-items"],
    allowPrivateNetwork: given["allow-private"],
    status: given["disabled"] ? "disabled" : undefined,
  };
}
