/** Posts results to URLs: deliveries are durable and signed, and are retried until they arrive or are dead. */
import { join } from "node:path";
import { definePlugin } from "portico";
import { errors } from "./errors.ts";
import { createDeliveryGuard } from "./guard.ts";
import { DELIVERY } from "./message.ts";
import { mountRoutes } from "./routes.ts";
import { type DeliveriesConfig, deliveriesSchema } from "./schema.ts";
import { createSealing } from "./stored-target.ts";
import { checkTarget } from "./target.ts";
import { createVault } from "./vault.ts";
import { startDeliveries } from "./worker.ts";

export default definePlugin({
  name: "deliveries",
  description: "Posts the results of turns to URLs",
  config: { deliveries: deliveriesSchema },
  events: {
    "delivery:failed": {
      mode: "notify",
      description: "A result could not be delivered, and the gateway will not try again.",
      sample: {
        deliveryId: "dlv_turn_5f0c",
        url: "https://example.com/results",
        type: "turn.completed",
        attempts: 8,
        error: { code: "http_500", message: "The receiver responded with 500." },
      },
    },
  },
  errors,
  contributions: { deliveryTargets: { fields: { name: "string", list: "function" } } },
  needs: ["store"],
  commands: { deliveries: () => import("./cli.ts") },
  setup(ctx, config) {
    let settings: DeliveriesConfig = config.deliveries;
    ctx.onConfig((next: typeof config) => {
      settings = next.deliveries;
    });
    const sealing = createSealing(ctx, createVault(join(ctx.paths.state, "delivery-key")));
    ctx.provide("deliveries", {
      ...sealing,
      check(target, param, principal) {
        checkTarget(target, param);
        createDeliveryGuard(ctx, settings, { target, principal }).precheck(target.url);
      },
    });
    mountRoutes(ctx, sealing);
    ctx.add("notice", {
      name: "deliveries",
      async list() {
        const dead = await ctx.use("store").items.count(DELIVERY, "dead");
        return dead > 0
          ? [`${dead} could not be delivered: see portico deliveries list --state dead.`]
          : [];
      },
    });
    startDeliveries(ctx, () => settings, sealing);
  },
});
