import { commandFor, defineCommand } from "portico/command-line";
import type { ServerState } from "./connections.ts";
import { mcpRoutes } from "./routes-schema.ts";

const list = commandFor<{ servers: ServerState[] }>("GET /mcp/servers", mcpRoutes.servers, {
  name: "list",
  summary: "List the configured servers with their state and tools",
  view: ({ servers }, io) =>
    io.table(
      ["NAME", "STATE", "TOOLS", ""],
      servers.map(({ name, state, tools, error }) => [name, state, tools.join(" "), error]),
    ),
});

export default defineCommand({
  name: "mcp",
  summary: "List the MCP servers whose tools the agent can use",
  commands: [list],
});
