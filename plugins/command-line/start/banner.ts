/** What `portico start` prints once the gateway runs. */
import type { StartedGateway } from "portico";
import { columns } from "../help.ts";

export function bannerOf(gateway: StartedGateway): string {
  const token = gateway.tokenIsNew ? gateway.token : "<your token>";
  const shown = gateway.tokenIsNew
    ? `${gateway.token} (created at this start; stored in the configuration)`
    : "the configured token";
  const at = { url: gateway.url, token: token ?? "" };
  const parts = gateway.list("banner");
  const rowsOf = (some: typeof parts) => some.flatMap((part) => part.rows?.(at) ?? []);
  // what can be pasted stands with the address and the token that it takes; all else comes after
  const rows = [...rowsOf(parts.filter(({ example }) => example)), ["Token", shown] as const];
  const examples = parts.flatMap((part) => part.example?.(at) ?? []);
  const more = rowsOf(parts.filter(({ example }) => !example));
  const blocks = [["Portico is running.", ...columns(rows), ""]];
  if (examples.length > 0) blocks.push(["Try it:", ...examples.map((line) => `  ${line}`), ""]);
  if (more.length > 0) blocks.push([...columns(more), ""]);
  return blocks.map((block) => block.join("\n")).join("\n");
}
