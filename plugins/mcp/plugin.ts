/**
 * The Model Context Protocol in both directions: our tools for MCP clients, and the tools of MCP servers for the agent.
 */
import { definePlugin } from "portico";
import { wrongAtStart } from "portico/strings";
import { errors } from "./errors.ts";
import { mcpRoutes } from "./routes-schema.ts";
import { McpConfig } from "./schema.ts";

export default definePlugin({
  name: "mcp",
  description: "Offers the agent's tools over MCP, and gives the agent the tools of MCP servers",
  errors,
  config: { mcp: McpConfig },
  configCheck: () => import("./config-check.ts"),
  commands: { mcp: () => import("./cli.ts") },

  async setup(ctx, config) {
    const { Connections, createFrontDoor, problemOf } = await import("./parts.ts");
    const connections = new Connections({
      log: ctx.log,
      version: ctx.version,
      addTool: (tool) => ctx.add("tool", tool),
      onRemote: (remote) => frontDoor.renewSubscriptions(remote),
    });
    const frontDoor = createFrontDoor(ctx, connections);
    frontDoor.configure(config.mcp.enabled);
    ctx.defer(() => connections.close());
    connections.configure(config.mcp.servers);
    ctx.readiness(() => connections.list().find(({ state }) => state === "wrong")?.error);
    const wasWrongAtStart = wrongAtStart(
      config.mcp.servers,
      (name, server) => problemOf(name, server) !== undefined,
    );
    ctx.onConfig((next: typeof config) => {
      for (const [name, server] of Object.entries(next.mcp.servers)) {
        const problem = problemOf(name, server);
        if (problem && !wasWrongAtStart(name, server)) throw problem;
      }
      connections.configure(next.mcp.servers);
      frontDoor.configure(next.mcp.enabled);
    });
    ctx.route("GET", "/mcp/servers", mcpRoutes.servers, () => ({
      servers: connections.list(),
    }));
  },
});
