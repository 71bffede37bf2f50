/** `portico audit`. */
import {
  commandFor,
  nextPageLines,
  pageOptions,
  periodOptions,
  type RouteOption,
} from "portico/command-line";
import { shorten } from "portico/strings";
import type { AuditEntry } from "./entry.ts";
import type { AuditPage } from "./query.ts";
import { auditRoutes } from "./routes-schema.ts";

const filters = {
  principal: {
    value: "WHO",
    description: "Only changes by this principal: owner, key:NAME or outside",
  },
  via: {
    value: "DOOR",
    description:
      'Only changes made through this interface: console, "command line", http, file or gateway',
  },
  address: { value: "IP", description: "Only changes from this address" },
  action: {
    value: "TEXT",
    description: "Only changes whose route, entry or configuration key contains this string",
  },
  outcome: {
    value: "WORD",
    description: "Only changes with this outcome: made, refused or failed",
  },
} satisfies Record<string, RouteOption>;

const MAX_KEYS_LENGTH = 50;

const show = commandFor<AuditEntry>("GET /audit/:id", auditRoutes.show, {
  name: "show",
  summary: "Show one change with the values before and after it",
  args: [{ name: "id", description: "The id of the change in the list" }],
  examples: ["portico audit show aud_4f0c2a --json"],
  view: formatDetails,
});

export default commandFor<AuditPage>("GET /audit", auditRoutes.list, {
  name: "audit",
  summary:
    "List the changes made through the console, the command line, HTTP and the configuration file, and the refused attempts",
  description:
    "Lists the newest changes first. Times are in UTC. `portico audit show ID` shows the values before and after a change.",
  options: { ...filters, ...periodOptions, ...pageOptions },
  examples: [
    "portico audit --since 7d",
    "portico audit --outcome refused",
    "portico audit --action /keys",
    "portico audit show aud_4f0c2a",
  ],
  commands: [show],
  view: ({ entries, next }, io) => [
    ...io.table(
      "AT WHO VIA ADDRESS ACTION ENTRY RESULT CHANGED ID".split(" "),
      entries.map(formatCells),
    ),
    ...nextPageLines(next),
  ],
});

function formatCells(entry: AuditEntry): (string | number)[] {
  const keys = entry.changes.map(({ key }) => key).join(", ");
  return [
    entry.at,
    entry.principal,
    entry.via,
    entry.address ?? "-",
    entry.action,
    entry.entry ?? "-",
    formatResult(entry),
    shorten(keys, MAX_KEYS_LENGTH) || "-",
    entry.id,
  ];
}

function formatResult({ outcome, error, count }: AuditEntry): string {
  const times = count === undefined ? "" : ` (${count} times)`;
  return `${outcome}${error === undefined ? "" : ` ${error.code}`}${times}`;
}

function formatDetails(entry: AuditEntry): string[] {
  const rows: [string, string | undefined][] = [
    ["Change", entry.id],
    ["At", entry.at],
    ["Who", entry.principal],
    ["Via", entry.via],
    ["Address", entry.address],
    ["Action", entry.action],
    ["Entry", entry.entry],
    ["Result", formatResult(entry)],
    ["Error", entry.error?.message],
    ["Request", entry.requestId],
  ];
  return [
    ...rows.flatMap(([name, value]) => (value === undefined ? [] : [`${name.padEnd(9)} ${value}`])),
    ...entry.changes.map(
      ({ key, before, after }) => `  ${key}: ${formatValue(before)} → ${formatValue(after)}`,
    ),
    ...(entry.request === undefined ? [] : [`  asked for: ${JSON.stringify(entry.request)}`]),
  ];
}

function formatValue(value: unknown): string {
  if (value === undefined) return "(nothing)";
  return typeof value === "string" ? value : JSON.stringify(value);
}
