/** What the commands of `portico usage` have in common. */
import type { OptionSpec } from "portico/command-line";

export const rangeOptions = {
  since: { type: "string", value: "TIME", description: "from this long ago: 7d, 24h, 90m, 4w" },
  from: { type: "string", value: "DATE", description: "from a date or time: 2026-11-01" },
  to: { type: "string", value: "DATE", description: "to a date (that day included) or time" },
} satisfies Record<string, OptionSpec>;

export const filterOptions = {
  model: { type: "string", value: "NAME", description: "only this model" },
  channel: { type: "string", value: "NAME", description: "only this channel" },
  key: { type: "string", value: "NAME", description: "only this client key" },
  tag: { type: "string", value: "NAME", description: "only requests with this tag" },
} satisfies Record<string, OptionSpec>;

export function keyName(key: string | null | undefined): string {
  return key ?? "(owner)";
}

export function dollars(usd: number): string {
  return `$${usd === 0 || usd >= 1 ? usd.toFixed(2) : usd.toFixed(6)}`;
}
