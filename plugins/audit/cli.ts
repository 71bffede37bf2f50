/** `portico audit`. */
import { type CommandIO, defineCommand, type OptionSpec } from "portico/command-line";
import { shorten } from "portico/strings";
import type { AuditEntry } from "./entry.ts";
import type { AuditPage } from "./query.ts";

const filters = {
  principal: {
    type: "string",
    value: "WHO",
    description: "Only changes by owner, key:NAME, outside",
  },
  via: {
    type: "string",
    value: "DOOR",
    description: 'Only changes by console, "command line", http, file or gateway',
  },
  address: { type: "string", value: "IP", description: "Only changes from this address" },
  action: {
    type: "string",
    value: "TEXT",
    description: "Only changes whose route, entry or keys contain this text",
  },
  outcome: { type: "string", value: "WORD", description: "Only made, refused or failed changes" },
  since: {
    type: "string",
    value: "TIME",
    description: "From this date, or this long ago: 90m, 7d",
  },
  until: { type: "string", value: "TIME", description: "Up to this date, or this long ago" },
  limit: { type: "number", value: "N", description: "How many, up to 1000; default 50" },
  before: { type: "string", value: "NEXT", description: "The `next` value of the previous page" },
} satisfies Record<string, OptionSpec>;

const LONGEST_KEYS = 50;

export default defineCommand({
  name: "audit",
  summary: "Who changed what, by console, command line or HTTP, and refused attempts",
  description:
    "Lists the newest changes first. Times are in UTC. portico audit show ID prints what was there before and after.",
  options: filters,
  examples: [
    "portico audit --since 7d",
    "portico audit --outcome refused",
    "portico audit --action /keys",
    "portico audit show aud_4f0c2a",
  ],
  async run(io) {
    const page = await io.gateway.request<AuditPage>("GET", "/audit", undefined, {
      query: queryOf(io),
    });
    io.show(page, ({ entries, next }) => [
      ...io.table(
        "AT WHO VIA ADDRESS ACTION ENTRY RESULT CHANGED ID".split(" "),
        entries.map(cells),
      ),
      ...(next === undefined ? [] : [`For older ones: --before ${next}`]),
    ]);
  },
  commands: [
    {
      name: "show",
      summary: "Print one change, with what was there before and after",
      args: [{ name: "id", description: "The id of the list" }],
      examples: ["portico audit show aud_4f0c2a --json"],
      async run(io) {
        const path = `/audit/${encodeURIComponent(io.args["id"] ?? "")}`;
        io.show(await io.gateway.request<AuditEntry>("GET", path), details);
      },
    },
  ],
});

function queryOf(io: CommandIO): Record<string, string | number> {
  return Object.fromEntries(
    Object.keys(filters).flatMap((name) => {
      const value = io.options[name];
      return typeof value === "string" || typeof value === "number" ? [[name, value]] : [];
    }),
  );
}

function cells(entry: AuditEntry): (string | number)[] {
  const keys = entry.changes.map(({ key }) => key).join(", ");
  return [
    entry.at,
    entry.principal,
    entry.via,
    entry.address ?? "-",
    entry.action,
    entry.entry ?? "-",
    resultOf(entry),
    shorten(keys, LONGEST_KEYS) || "-",
    entry.id,
  ];
}

function resultOf({ outcome, error, count }: AuditEntry): string {
  const times = count === undefined ? "" : ` (${count} times)`;
  return `${outcome}${error === undefined ? "" : ` ${error.code}`}${times}`;
}

function details(entry: AuditEntry): string[] {
  const rows: [string, string | undefined][] = [
    ["Change", entry.id],
    ["At", entry.at],
    ["Who", entry.principal],
    ["Via", entry.via],
    ["Address", entry.address],
    ["Action", entry.action],
    ["Entry", entry.entry],
    ["Result", resultOf(entry)],
    ["Error", entry.error?.message],
    ["Request", entry.requestId],
  ];
  return [
    ...rows.flatMap(([name, value]) => (value === undefined ? [] : [`${name.padEnd(9)} ${value}`])),
    ...entry.changes.map(
      ({ key, before, after }) => `  ${key}: ${shown(before)} → ${shown(after)}`,
    ),
    ...(entry.request === undefined ? [] : [`  asked for: ${JSON.stringify(entry.request)}`]),
  ];
}

function shown(value: unknown): string {
  if (value === undefined) return "(nothing)";
  return typeof value === "string" ? value : JSON.stringify(value);
}
