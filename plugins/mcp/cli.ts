import { defineCommand } from "portico/command-line";
import type { ServerState } from "./connections.ts";

export default defineCommand({
  name: "mcp",
  summary: "MCP servers that bring tools to the agent",
  commands: [
    {
      name: "list",
      summary: "The servers of the configuration, their state and tools",
      run: async (io) => {
        io.show(
          await io.gateway.request<{ servers: ServerState[] }>("GET", "/mcp/servers"),
          ({ servers }) =>
            io.table(
              ["NAME", "STATE", "TOOLS", ""],
              servers.map(({ name, state, tools, error }) => [name, state, tools.join(" "), error]),
            ),
        );
      },
    },
  ],
});
