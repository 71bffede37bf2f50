import { defineCommand } from "portico";
import type { Amounts, Report, Row } from "./report.ts";

export default defineCommand({
  name: "usage",
  summary: "Tokens and costs of models",
  description:
    "Sums of the last 30 days, unless told otherwise. Days are those of UTC. Costs are US dollars by list price: no bill.",
  options: {
    since: { type: "string", value: "TIME", description: "from this long ago: 7d, 24h, 90m, 4w" },
    from: { type: "string", value: "DATE", description: "from a date or time: 2026-11-01" },
    to: { type: "string", value: "DATE", description: "to a date (that day included) or time" },
    by: { type: "list", value: "WHAT", description: "a row for each model, channel, key, day or hour; default model" },
    model: { type: "string", value: "NAME", description: "only this model" },
    channel: { type: "string", value: "NAME", description: "only this channel" },
    key: { type: "string", value: "NAME", description: "only this client key" },
  },
  examples: ["portico usage --since 7d", "portico usage --from 2026-11-01 --by day,key --json"],
  async run(io) {
    const { by, since, from, to, model, channel, key } = io.options as Record<string, string | string[] | undefined>;
    const groups = by === undefined ? "model" : [by].flat().join(",");
    const result = await io.gateway.request<Report>("GET", "/usage", undefined, {
      query: { by: groups, ...defined({ since, from, to, model, channel, key }) },
    });
    io.show(result, ({ rows, total }) => [
      ...io.table(
        [...result.by.map((name) => name.toUpperCase()), "REQUESTS", "ERRORS", "PROMPT", "CACHED", "ANSWER", "COST"],
        [
          ...rows.map((row) => [...result.by.map((name) => nameIn(row, name)), ...cells(row)]),
          [...result.by.map((_, i) => (i === 0 ? "total" : "")), ...cells(total)],
        ],
      ),
      ...notes(total),
    ]);
  },
});

function defined(fields: Record<string, string | string[] | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])),
  );
}

function nameIn(row: Row, name: keyof Row): string {
  const value = row[name];
  return value === null ? "(owner)" : String(value ?? "");
}

function cells({
  requests,
  errors,
  promptTokens,
  cachedTokens,
  completionTokens,
  costUsd,
}: Amounts): (string | number)[] {
  return [requests, errors, promptTokens, cachedTokens, completionTokens, dollars(costUsd)];
}

function dollars(usd: number): string {
  return `$${usd === 0 || usd >= 1 ? usd.toFixed(2) : usd.toFixed(6)}`;
}

function notes({ unmetered, unpriced }: Amounts): string[] {
  return [
    ...(unmetered > 0 ? [`${unmetered} answers came without usage, or were cut: their tokens are not in here.`] : []),
    ...(unpriced > 0 ? [`${unpriced} answers have no known price: their cost is not in here (see usage.prices).`] : []),
  ];
}
