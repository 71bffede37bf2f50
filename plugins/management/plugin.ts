/** The management of a gateway: `/kernel/*`, and the commands that look at it and steer it. */
import { definePlugin } from "portico";
import type {} from "portico/chat";
import { createEverywhere } from "./everywhere.ts";
import { mountConfigRoutes } from "./routes/config.ts";
import { mountGatewayRoutes } from "./routes/gateway.ts";
import { mountHookRoutes } from "./routes/hooks.ts";
import { mountPluginRoutes } from "./routes/plugins.ts";

export default definePlugin({
  name: "management",
  description: "State, hooks, plugins and log of the gateway, over HTTP and on the command line",
  needs: ["host"],
  contributions: { notice: { fields: { name: "string", list: "function" } } },
  commands: {
    config: () => import("./config/command.ts"),
    status: () => import("./commands/status.ts"),
    hooks: () => import("./commands/hooks.ts"),
    plugins: () => import("./commands/plugins.ts"),
    logs: () => import("./commands/logs.ts"),
    doctor: () => import("./commands/doctor.ts"),
  },
  setup(ctx) {
    const management = ctx.use("host");
    const everywhere = createEverywhere(management, () => ctx.use("gateway"), ctx.find("workers"));
    ctx.defer(everywhere.answer());
    mountGatewayRoutes(ctx, management, everywhere);
    mountConfigRoutes(ctx, management);
    mountHookRoutes(ctx, management, everywhere);
    mountPluginRoutes(ctx, management, everywhere, () => ctx.find("channels"));
  },
});
