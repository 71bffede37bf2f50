/** Sets up the webhooks from their parts. */
import type { DeliveryTarget } from "portico/deliveries";
import { type Call, createThrottle, type PluginContext } from "portico";
import type {} from "portico/cluster";
import { wrongAtStart } from "portico/strings";
import { startBursts } from "./bursts/end.ts";
import { createDeliveryLog } from "./log/delivery-log.ts";
import { createIntake } from "./intake/intake.ts";
import { mountManagement } from "./manage.ts";
import { createPlanner } from "./plan.ts";
import type { WebhooksConfig } from "./schema.ts";
import { findGrants, readSettings, type Settings } from "./settings.ts";
import { createSamples } from "./mappings/samples.ts";
import { createTransforms } from "./mappings/transform.ts";

/** Returns the delivery targets of all mappings, by their paths in the configuration. */
function listDeliveryTargets({ mappings }: Settings): Record<string, DeliveryTarget> {
  const targets: Record<string, DeliveryTarget> = {};
  for (const { name, config } of mappings.values())
    if (typeof config.delivery === "object")
      targets[`webhooks.mappings.${name}.delivery`] = config.delivery;
  return targets;
}

export interface Webhooks {
  handle(call: Call): Promise<unknown>;
  settings(): Settings;
  /** Applies a changed configuration, or throws and keeps the previous one. */
  apply(config: WebhooksConfig): Promise<Settings>;
}

export async function setUp(ctx: PluginContext, config: WebhooksConfig): Promise<Webhooks> {
  const samples = createSamples(ctx);
  let current = await readSettings(config, { isKnown: () => true });
  const isKnown = wrongAtStart(config.mappings, (mapping) => current.broken.has(mapping));
  const logBrokenMappings = () => {
    for (const [mapping, problem] of current.broken)
      ctx.log.error({ mapping }, `a mapping is invalid and not in use: ${problem}`);
  };
  logBrokenMappings();
  const settings = () => current;
  const log = createDeliveryLog(ctx, () => current.config.log);
  const transforms = createTransforms(ctx);
  const prepareTransforms = () => {
    const files = [...current.mappings.values()].flatMap(({ config }) => config.transform ?? []);
    // A failure is logged here, and reported again at the next delivery.
    void transforms.prepare(files);
  };
  prepareTransforms();
  const planner = createPlanner({ ctx, settings, transforms });
  const name = "webhook refusals";
  const refusals = createThrottle();
  refusals.share((address) => ctx.find("cluster")?.tell(name, address));
  ctx.add("signal", { name, take: refusals.note });
  mountManagement({ ctx, settings, log, planner, samples });
  startBursts(ctx);
  ctx.add("grant", {
    name: "webhooks",
    kind: "webhook",
    find: (webhook) => findGrants(current, webhook),
  });
  ctx.add("deliveryTargets", { name: "webhooks", list: () => listDeliveryTargets(current) });
  return {
    handle: createIntake({ ctx, settings, refusals, log, planner, samples }),
    settings,
    async apply(next) {
      current = await readSettings(next, {
        isKnown,
        previousMappings: current.mappings,
        caughtSample: samples.get,
      });
      logBrokenMappings();
      prepareTransforms();
      return current;
    },
  };
}
