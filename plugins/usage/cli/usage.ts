/** The command `portico usage`. */
import { commandFor } from "portico/command-line";
import type { Amounts, Report, Row } from "../report.ts";
import requests from "./requests.ts";
import { usageRoutes } from "../routes-schema.ts";
import { dollars, filterOptions, keyName, rangeOptions } from "./options.ts";

export default commandFor<Report>("GET /usage", usageRoutes.sums, {
  name: "usage",
  summary: "Show tokens and costs of models",
  description:
    "Sums up the last 30 days by default. Days are in UTC. Costs are estimates in US dollars, based on list prices.",
  options: {
    ...rangeOptions,
    by: {
      value: "WHAT",
      description:
        "Show a row for each model (default), channel, key, alias, principal, tag, day or hour",
      read: (names: readonly string[]) => names.join(","),
      fallback: "model",
    },
    ...filterOptions,
    alias: {
      value: "NAME",
      description: "Only requests in which the client named this alias or model",
    },
    principal: { value: "NAME", description: "Only requests of this principal, such as key:ci" },
  },
  examples: ["portico usage --since 7d", "portico usage --from 2026-11-01 --by day,key --json"],
  commands: [requests],
  view: ({ by, rows, total }, io) => [
    ...io.table(
      [
        ...by.map((name) => name.toUpperCase()),
        "REQUESTS",
        "ERRORS",
        "PROMPT-TOK",
        "CACHED-TOK",
        "OUTPUT-TOK",
        "P50",
        "P95",
        "COST",
      ],
      [
        ...rows.map((row) => [...by.map((name) => nameIn(row, name)), ...cells(row)]),
        [...by.map((_, i) => (i === 0 ? "total" : "")), ...cells(total)],
      ],
    ),
    ...notes(total),
  ],
});

function nameIn(row: Row, name: keyof Row): string {
  return name === "key" ? keyName(row.key) : String(row[name] ?? "");
}

function cells({
  requests,
  errors,
  promptTokens,
  cachedTokens,
  completionTokens,
  p50Ms,
  p95Ms,
  costUsd,
  unpriced,
}: Amounts): (string | number)[] {
  return [
    requests,
    errors,
    promptTokens,
    cachedTokens,
    completionTokens,
    timeText(p50Ms),
    timeText(p95Ms),
    costOf(costUsd, unpriced),
  ];
}

/** Formats a duration. */
function timeText(ms: number | null): string {
  if (ms === null) return "–";
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** Formats a cost, for example `$1.20 + unknown` if only some of the responses have a price. */
function costOf(costUsd: number | null, unpriced: number): string {
  if (costUsd === null) return "unknown";
  return unpriced === 0 ? dollars(costUsd) : `${dollars(costUsd)} + unknown`;
}

function notes({ estimated, unpriced }: Amounts): string[] {
  return [
    ...(estimated > 0
      ? [
          `Responses whose token counts are estimates: ${estimated}. The upstream reported no counts, or the client disconnected.`,
        ]
      : []),
    ...(unpriced > 0
      ? [
          `Responses without a known price, which the total does not include: ${unpriced}. Set usage.prices to include them.`,
        ]
      : []),
  ];
}
