import { commandFor, defineCommand } from "portico/command-line";
import type { ServerState } from "./connections.ts";
import { mcpRoutes } from "./routes-schema.ts";

const list = commandFor<{ servers: ServerState[] }>("GET /mcp/servers", mcpRoutes.servers, {
  name: "list",
  summary: "The servers of the configuration, their state and tools",
  view: ({ servers }, io) =>
    io.table(
      ["NAME", "STATE", "TOOLS", ""],
      servers.map(({ name, state, tools, error }) => [name, state, tools.join(" "), error]),
    ),
});

export default defineCommand({
  name: "mcp",
  summary: "MCP servers that bring tools to the agent",
  commands: [list],
});
