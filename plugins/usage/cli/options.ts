/** Options and formats that the commands of `portico usage` share. */
import type { OptionSpec } from "portico/command-line";

export const rangeOptions = {
  since: {
    type: "string",
    value: "TIME",
    description: "Only requests of this period before now: 7d, 24h, 90m, 4w",
  },
  from: {
    type: "string",
    value: "DATE",
    description: "Only requests from this date or time on: 2026-11-01",
  },
  to: {
    type: "string",
    value: "DATE",
    description: "Only requests up to and including this date, or up to this time",
  },
} satisfies Record<string, OptionSpec>;

export const filterOptions = {
  model: { type: "string", value: "NAME", description: "Only requests for this model" },
  channel: { type: "string", value: "NAME", description: "Only requests of this channel" },
  key: { type: "string", value: "NAME", description: "Only requests of this client key" },
  tag: { type: "string", value: "NAME", description: "Only requests with this tag" },
} satisfies Record<string, OptionSpec>;

export function keyName(key: string | null | undefined): string {
  return key ?? "(owner)";
}

export function dollars(usd: number): string {
  return `$${usd === 0 || usd >= 1 ? usd.toFixed(2) : usd.toFixed(6)}`;
}
