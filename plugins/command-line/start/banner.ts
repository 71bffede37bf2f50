/** The text that `portico start` prints when the gateway is running. */
import type { StartedGateway } from "portico";
import { formatColumns } from "../help.ts";

export function createBanner(gateway: StartedGateway): string {
  const token = gateway.tokenIsNew ? gateway.token : "<your token>";
  const tokenText = gateway.tokenIsNew
    ? `${gateway.token} (created at this start; stored in the configuration)`
    : "the configured token";
  const connection = { url: gateway.url, token: token ?? "" };
  const parts = gateway.list("banner");
  const rowsOf = (some: typeof parts) => some.flatMap((part) => part.rows?.(connection) ?? []);
  // rows of parts with an example come first, next to the token that the example needs
  const rows = [...rowsOf(parts.filter(({ example }) => example)), ["Token", tokenText] as const];
  const examples = parts.flatMap((part) => part.example?.(connection) ?? []);
  const otherRows = rowsOf(parts.filter(({ example }) => !example));
  const blocks = [["Portico is running.", ...formatColumns(rows), ""]];
  if (examples.length > 0) blocks.push(["Try it:", ...examples.map((line) => `  ${line}`), ""]);
  if (otherRows.length > 0) blocks.push([...formatColumns(otherRows), ""]);
  return blocks.map((block) => block.join("\n")).join("\n");
}
