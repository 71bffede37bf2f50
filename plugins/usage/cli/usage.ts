/** `portico usage`. */
import { defineCommand } from "portico/command-line";
import type { Amounts, Report, Row } from "../report.ts";
import requests from "./requests.ts";
import { dollars, filterOptions, keyName, queryOf, rangeOptions } from "./options.ts";

export default defineCommand({
  name: "usage",
  summary: "Tokens and costs of models",
  description:
    "Sums of the last 30 days, unless told otherwise. Days are those of UTC. Costs are US dollars by list price: no bill.",
  options: {
    ...rangeOptions,
    by: {
      type: "list",
      value: "WHAT",
      description: "a row for each model, channel, key, tag, day or hour; default model",
    },
    ...filterOptions,
  },
  examples: ["portico usage --since 7d", "portico usage --from 2026-11-01 --by day,key --json"],
  commands: [requests],
  async run(io) {
    const by = io.options["by"] as string[] | undefined;
    const result = await io.gateway.request<Report>("GET", "/usage", undefined, {
      query: {
        by: by?.join(",") ?? "model",
        ...queryOf(io, Object.keys({ ...rangeOptions, ...filterOptions })),
      },
    });
    io.show(result, ({ rows, total }) => [
      ...io.table(
        [
          ...result.by.map((name) => name.toUpperCase()),
          "REQUESTS",
          "ERRORS",
          "PROMPT",
          "CACHED",
          "ANSWER",
          "COST",
        ],
        [
          ...rows.map((row) => [...result.by.map((name) => nameIn(row, name)), ...cells(row)]),
          [...result.by.map((_, i) => (i === 0 ? "total" : "")), ...cells(total)],
        ],
      ),
      ...notes(total),
    ]);
  },
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
  costUsd,
  unpriced,
}: Amounts): (string | number)[] {
  return [
    requests,
    errors,
    promptTokens,
    cachedTokens,
    completionTokens,
    costOf(costUsd, unpriced),
  ];
}

/** What is not known is not nothing: `$1.20 + unknown` where only some of the responses have a price. */
function costOf(costUsd: number | null, unpriced: number): string {
  if (costUsd === null) return "unknown";
  return unpriced === 0 ? dollars(costUsd) : `${dollars(costUsd)} + unknown`;
}

function notes({ estimated, unpriced }: Amounts): string[] {
  return [
    ...(estimated > 0
      ? [
          `The tokens of ${estimated} answers are estimated: their upstream told none, or the client left.`,
        ]
      : []),
    ...(unpriced > 0
      ? [`${unpriced} answers have no known price: their cost is not in here (see usage.prices).`]
      : []),
  ];
}
