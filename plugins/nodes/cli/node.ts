/** `portico node`: offers this machine's browser to a gateway on another machine. */
import { defineCommand } from "portico/command-line";

export default defineCommand({
  name: "node",
  summary: "Offer this machine's browser to a gateway on another machine",
  description:
    "The node runs in the foreground, with its own home directory, configuration and browser profiles. It connects to the\n" +
    "gateway, and reconnects whenever the connection ends. Pass the gateway's token with --token or, to keep it off the\n" +
    "command line, in PORTICO_TOKEN or nodeHost.token.",
  options: {
    gateway: {
      type: "string",
      value: "URL",
      description: "The gateway's address (default: nodeHost.gateway)",
    },
    port: {
      type: "number",
      value: "N",
      description: "The node's own port (default: 18769 if it is free)",
    },
    name: {
      type: "string",
      value: "N",
      description: "The name of this node on the gateway (default: the host name)",
    },
  },
  examples: [
    "portico node --gateway https://gateway.example:18789 --token T --name laptop",
    "PORTICO_TOKEN=T portico node --gateway http://192.168.1.5:18789 --home ~/.portico-node",
  ],
  async run(io) {
    const text = (value: unknown): string | undefined =>
      typeof value === "string" ? value : undefined;
    const gateway = text(io.options["gateway"]);
    const token = text(io.options["token"]) ?? io.env["PORTICO_TOKEN"];
    const name = text(io.options["name"]);
    const { findNodePort: nodePort } = await import("../host/port.ts");
    await io.serve({
      only: ["browser", "management", "nodes"],
      port: (io.options["port"] as number | undefined) ?? (await nodePort()),
      started: (running) =>
        running.use("nodeHost").connect({
          gateway,
          token,
          name,
          say: (line) => io.print(line),
        }),
    });
  },
});
