/** The engine: models over any number of channels. */
import { definePlugin } from "portico";
import type {} from "portico/cluster";
import { errors } from "./errors.ts";
import { events } from "./events.ts";
import { findProviderFault } from "./upstream/provider-check.ts";
import { sections } from "./schema.ts";

export default definePlugin({
  name: "models",
  description: "Offers the models of any number of upstreams, with routing and fallback",
  config: sections,
  configCheck: () => import("./config-check.ts"),
  events,
  errors,
  contributions: {
    provider: {
      fields: { name: "string" },
      check: findProviderFault,
    },
    meter: { fields: { name: "string", finished: "function" } },
    gate: { fields: { name: "string", admit: "function", allows: "function" } },
    pricing: { fields: { name: "string", now: "function", costOf: "function", spent: "function" } },
  },
  commands: { channels: () => import("./cli.ts") },
  checks: { channels: () => import("./check.ts") },
  templates: { provider: () => import("./template.ts") },

  async setup(ctx, config) {
    const {
      channelNotices,
      createEngine,
      createModelsService,
      defaultModel,
      describeChannels,
      listModels,
      mountRoutes,
      offerChannels,
      offerRuns,
      runsEverywhere,
      targetsOf,
    } = await import("./parts.ts");

    const { engine, listings } = createEngine(ctx, config);
    const { provider, routing, runs } = engine;
    const workers = ctx.find("workers");
    if (workers) {
      ctx.defer(offerChannels(engine, workers));
      ctx.defer(offerRuns(runs, workers));
    }

    const created = Math.floor(Date.now() / 1000);
    const endpoint = {
      engine,
      events: ctx,
      busy: ctx.busy,
      meters: () => ctx.list("meter"),
      gates: () => ctx.list("gate"),
      models: () =>
        listModels(routing.aliases(), routing.channels().values(), { listings, provider, created }),
      workers,
    };
    mountRoutes(ctx, endpoint, listings);

    ctx.provide("channels", {
      list: () => describeChannels(engine).channels,
      targets: (model) => targetsOf(engine, model),
      runs: (name) => runsEverywhere(runs, name, workers),
    });
    ctx.add("notice", { name: "channels", list: () => channelNotices(engine, workers) });
    const models = createModelsService(endpoint, (channel) =>
      defaultModel(routing.channels().values(), { listings, provider, channel }),
    );
    ctx.provide("models", models);
    // Older plugins of users know the service by this name.
    ctx.provide("chat", models);
  },
});
