/** Names the caller of a change over HTTP, and the program that the caller used. */
import type { Call, ChangeDoor, ChangeOrigin } from "../../contract/index.ts";

/** The product name that the command line sends in `User-Agent`, followed by its version. */
const COMMAND_LINE_AGENT = "portico-cli";

/** The principals of clients without a key. */
const NAMES = { owner: "owner", anonymous: "outside" } as const;

export function describeOrigin({
  client,
  address,
  req,
}: Pick<Call, "client" | "address" | "req">): ChangeOrigin {
  const principal = client.kind === "key" ? `key:${client.key}` : NAMES[client.kind];
  return { principal, via: detectDoor(req.headers), address };
}

/** Browsers set `Sec-Fetch-Site` themselves, and only the gateway's own pages have the same origin. */
function detectDoor(headers: Call["req"]["headers"]): ChangeDoor {
  if (headers["sec-fetch-site"] === "same-origin") return "console";
  const isCommandLine = headers["user-agent"]?.startsWith(`${COMMAND_LINE_AGENT}/`);
  return isCommandLine ? "command line" : "http";
}
