/** All of `/kernel/*`. */
import type { PluginContext } from "portico";
import { Everywhere } from "../everywhere.ts";
import { mountConfigRoutes } from "./config.ts";
import { mountGatewayRoutes } from "./gateway.ts";
import { mountHookRoutes } from "./hooks.ts";
import { mountLogRoute } from "./log.ts";
import { mountPluginRoutes } from "./plugins.ts";

export function mountRoutes(ctx: PluginContext): void {
  const management = ctx.use("host");
  const everywhere = new Everywhere(management, () => ctx.use("gateway"), ctx.find("workers"));
  ctx.defer(everywhere.answer());
  mountGatewayRoutes(ctx, management, everywhere);
  mountLogRoute(ctx, management, everywhere);
  mountConfigRoutes(ctx, management);
  mountHookRoutes(ctx, management, everywhere);
  mountPluginRoutes(ctx, management, everywhere, () => ctx.find("channels"));
}
