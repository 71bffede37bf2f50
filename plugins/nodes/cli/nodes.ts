/** `portico nodes`: the nodes of a gateway. */
import { commandFor, defineCommand } from "portico/command-line";
import type { NodeStatus } from "../index.ts";
import { nodesRoute } from "../routes-schema.ts";

const NO_NODE =
  "No node has connected. Run 'portico node --gateway URL --token T' on the machine with the browser.";

const list = commandFor<{ nodes: NodeStatus[] }>("GET /nodes", nodesRoute, {
  name: "list",
  summary: "List the connected and disconnected nodes",
  examples: ["portico nodes list", "portico nodes list --json"],
  view: ({ nodes }, io) =>
    nodes.length === 0
      ? NO_NODE
      : io.table(
          ["NAME", "STATE", "CONNECTED SINCE", "LAST SEEN", "VERSION", "PROFILES", "IN FLIGHT"],
          nodes.map((node) => [
            node.name,
            node.state === "connected" && !node.browser ? "connected, no browser" : node.state,
            node.connectedSince ?? "-",
            node.lastSeen,
            node.version,
            node.profiles.join(", "),
            node.inFlight,
          ]),
        ),
});

export default defineCommand({
  name: "nodes",
  summary: "List the nodes, which are machines whose browsers the gateway uses",
  description:
    "A node is a machine on which 'portico node' runs. The gateway uses the browser of the node instead of a local browser.",
  commands: [list],
});
