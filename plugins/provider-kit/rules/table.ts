/** Formats the rules of a provider as a table for its README. */
import type { RequestRule } from "../types/rules.ts";

/** Returns a Markdown table whose rows are in the order in which the rules are applied. */
export function rulesTable(rules: readonly RequestRule[]): string {
  const rows = rules.map(({ name, demand, remedy, only }) => {
    const where = only === undefined ? "" : ` (${only.where})`;
    return `| \`${name}\`${where} | ${demand} | ${remedy} |`;
  });
  return [
    "| rule | what the provider requires | what the gateway does |",
    "|---|---|---|",
    ...rows,
  ].join("\n");
}
