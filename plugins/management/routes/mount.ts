/** Mounts all routes below `/kernel/`. */
import type { PluginContext } from "portico";
import { AllWorkers } from "../all-workers.ts";
import { mountConfigRoutes } from "./config.ts";
import { mountGatewayRoutes } from "./gateway.ts";
import { mountHookRoutes } from "./hooks.ts";
import { mountLogRoute } from "./log.ts";
import { mountPluginRoutes } from "./plugins.ts";

export function mountRoutes(ctx: PluginContext): void {
  const management = ctx.use("host");
  const allWorkers = new AllWorkers(management, () => ctx.use("gateway"), ctx.find("workers"));
  ctx.defer(allWorkers.serve());
  mountGatewayRoutes(ctx, management, allWorkers);
  mountLogRoute(ctx, management, allWorkers);
  mountConfigRoutes(ctx, management);
  mountHookRoutes(ctx, management, allWorkers);
  mountPluginRoutes(ctx, management, allWorkers, () => ctx.find("channels"));
}
