/** The routes of `/mcp`, which exist while `mcp.enabled` is true. */
import { type Call, type Dispose, type PluginContext, principalOf } from "portico";
import type { Connections } from "./connections.ts";
import { mcpRoutes } from "./routes-schema.ts";
import type { Remote } from "./remote.ts";
import type { McpServices } from "./serve.ts";
import type { Sessions } from "./sessions.ts";

export interface FrontDoor {
  configure(isEnabled: boolean): void;
  /** Renews the clients' subscriptions on a new connection to a server. */
  renewSubscriptions(remote: Remote): void;
}

export function createFrontDoor(ctx: PluginContext, connections: Connections): FrontDoor {
  let sessions: Promise<Sessions> | undefined;
  ctx.defer(async () => (await sessions)?.close());

  /**
   * Returns undefined if a request of a session could reach another worker or gateway, which does not have the session.
   */
  function findSessions(): Promise<Sessions> | undefined {
    const isAlone = ctx.find("workers") === undefined && ctx.find("store")?.sharedBy !== "gateways";
    if (isAlone)
      sessions ??= import("./sessions.ts").then((module) => new module.Sessions(ctx.log));
    return isAlone ? sessions : undefined;
  }
  let routes: Dispose[] = [];

  async function createServices(call: Call): Promise<McpServices> {
    const access = await ctx.use("agent").access(principalOf(call.client));
    return {
      version: ctx.version,
      tools: () => ctx.list("tool"),
      remotes: () => connections.remotes(),
      access,
      sessions: await findSessions(),
    };
  }
  async function onMessage(call: Call): Promise<void> {
    const { serveMcp } = await import("./serve.ts");
    return serveMcp(call, await createServices(call));
  }
  async function onSession(call: Call): Promise<void> {
    const { serveSession } = await import("./serve.ts");
    return serveSession(call, await createServices(call));
  }

  return {
    configure(isEnabled) {
      if (isEnabled === routes.length > 0) return;
      if (isEnabled) {
        routes = [
          ctx.route("POST", "/mcp", mcpRoutes.serve, onMessage),
          ctx.route("GET", "/mcp", mcpRoutes.listen, onSession),
          ctx.route("DELETE", "/mcp", mcpRoutes.end, onSession),
        ];
      } else {
        for (const remove of routes) void remove();
        routes = [];
      }
    },
    renewSubscriptions(remote) {
      void sessions?.then((all) => all.renewSubscriptions(remote));
    },
  };
}
