/** `portico gateways`. */
import type { GatewayEntry } from "portico/cluster";
import { commandFor } from "portico/command-line";
import { gatewaysRoute } from "./routes-schema.ts";

export default commandFor<{ gateways: GatewayEntry[] }>("GET /gateways", gatewaysRoute, {
  name: "gateways",
  summary: "List the gateways that share the store",
  description:
    "Each gateway renews its entry in this list every 5 seconds. A gateway that was killed disappears from the list 15 seconds after its last renewal. The star marks the gateway that sent this list.",
  examples: ["portico gateways", "portico gateways --json"],
  view: ({ gateways }, io) =>
    io.table(
      ["", "NAME", "HOST", "ADDRESS", "VERSION", "PID", "WORKERS", "STARTED", "LAST SEEN"],
      gateways.map((entry) => [
        entry.isThis ? "*" : "",
        entry.name,
        entry.host,
        entry.url,
        entry.version,
        entry.pid,
        entry.workers,
        entry.startedAt,
        `${Math.round(entry.ageMs / 1000)} s ago`,
      ]),
    ),
});
