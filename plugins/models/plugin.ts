/** The engine: models over any number of channels, for anyone who asks. */
import { definePlugin } from "portico";
import type {} from "portico/cluster";
import { errors } from "./errors.ts";
import { events } from "./events.ts";
import type { Candidate } from "./routing/router.ts";
import type { Lesson } from "./routing/surroundings.ts";
import { whyUnfitProvider } from "./upstream/provider-check.ts";
import { AliasConfig, ChannelConfig } from "./schema.ts";

/** Targets are compared by the price of this: prompts are longer than their responses. */
const COMMON_SIZE = { prompt_tokens: 3000, completion_tokens: 1000, total_tokens: 4000 };

export default definePlugin({
  name: "models",
  description: "Models over any number of upstreams, with routing and fail-over",
  config: { "channels.*": ChannelConfig, "models.*": AliasConfig },
  configCheck: () => import("./config-check.ts"),
  events,
  errors,
  contributions: {
    provider: {
      fields: { name: "string" },
      check: whyUnfitProvider,
    },
    meter: { fields: { name: "string", finished: "function" } },
    gate: { fields: { name: "string", admit: "function", allows: "function" } },
    pricing: { fields: { name: "string", now: "function", costOf: "function", spent: "function" } },
  },
  commands: { channels: () => import("./cli.ts") },
  checks: { channels: () => import("./check.ts") },
  templates: { provider: () => import("./template.ts") },

  async setup(ctx, config) {
    const { createMasks } = await import("portico/secrets");
    const { channelSurroundings } = await import("./routing/surroundings.ts");
    const { createChannelSet } = await import("./routing/channels.ts");
    const { createUpstreamClient } = await import("./upstream/http/upstream-client.ts");
    const { createRunCounts, offerRuns, runsEverywhere } = await import("./upstream/run-counts.ts");
    const { RENEW_MS, Spending } = await import("./routing/limits/spending.ts");
    const { Signatures } = await import("./signatures/signatures.ts");
    const { createBudgets } = await import("./routing/budget.ts");
    const { defaultModel } = await import("./routing/default-model.ts");
    const { createListings, listModels } = await import("./routing/models.ts");
    const { openaiForm } = await import("./serving/openai-form.ts");
    const { embeddings } = await import("./serving/embeddings.ts");
    const { modelDetails, modelList } = await import("./serving/model-routes.ts");
    const { createModelsService } = await import("./serving/service.ts");
    const {
      channelNotices,
      describeChannels,
      describeEverywhere,
      describeProvider,
      offerChannels,
      targetsOf,
      testChannel,
      updateBudgets,
    } = await import("./channel-routes.ts");

    // A section with `*` holds the whole map.
    const sections = (all: typeof config) => ({
      channels: all["channels.*"] ?? {},
      aliases: new Map(Object.entries(all["models.*"] ?? {})),
    });
    const channels = createChannelSet(channelSurroundings(ctx));
    ctx.add("signal", {
      name: "channels",
      take: (lesson: Lesson) => channels.all().get(lesson.channel)?.learn(lesson),
    });
    let { aliases } = sections(config);
    channels.configure(sections(config).channels);
    channels.provide(ctx.list("provider"));
    ctx.watch("provider", () => channels.provide(ctx.list("provider")));
    ctx.onConfig((next: typeof config) => {
      const changed = sections(next);
      channels.configure(changed.channels);
      ({ aliases } = changed);
    });

    const upstreams = createUpstreamClient(process.env);
    ctx.defer(() => upstreams.close());
    const ownPorts = () => ctx.ports();
    const masks = createMasks({
      configured: () => ctx.secrets(),
      provided: (name) =>
        name === undefined
          ? ctx.list("provider").flatMap((one) => one.secrets?.() ?? [])
          : (channels.provider(name)?.secrets?.() ?? []),
    });
    const listings = createListings({
      upstreams,
      masks,
      provider: channels.provider,
      log: ctx.log,
      ownPorts,
      now: Date.now,
    });
    const runs = createRunCounts();
    const pricing = () => ctx.list("pricing")[0];
    const spending = new Spending({
      store: () => ctx.find("store"),
      pricing,
      gates: () => ctx.list("gate"),
      channels: () => channels.all().values(),
      log: ctx.log,
    });
    ctx.task("renew reservations", { everyMs: RENEW_MS }, () => spending.renew());
    const engine = {
      upstreams,
      masks,
      log: ctx.log,
      ownPorts,
      provider: channels.provider,
      signatures: new Signatures({ kv: () => ctx.find("store")?.kv, now: Date.now }),
      budgets: createBudgets(pricing),
      spending,
      runs,
      routing: {
        channels: channels.all,
        aliases: () => aliases,
        listing: listings.of,
        priceOf: async ({ channel: { name: channel, config }, model }: Candidate) =>
          pricing()?.costOf({ channel, provider: config.provider, model }, COMMON_SIZE),
        random: Math.random,
      },
    };
    const created = Math.floor(Date.now() / 1000);
    const models = () =>
      listModels(aliases, channels.all().values(), {
        listings,
        provider: channels.provider,
        created,
      });

    const workers = ctx.find("workers");
    if (workers) {
      ctx.defer(offerChannels(engine, workers));
      ctx.defer(offerRuns(runs, workers));
    }

    const { modelRoutes, openaiError } = await import("./routes-schema.ts");
    ctx.errors("/v1", openaiForm, { isBase: true, schema: openaiError });
    const endpoint = {
      engine,
      events: ctx,
      busy: ctx.busy,
      meters: () => ctx.list("meter"),
      gates: () => ctx.list("gate"),
      models,
      workers,
    };
    ctx.route("POST", "/v1/embeddings", modelRoutes.embeddings, (call) =>
      embeddings(endpoint, call),
    );
    ctx.route("GET", "/v1/models", modelRoutes.models, (call) => modelList(endpoint, call));
    ctx.route("GET", "/v1/models/*", modelRoutes.model, (call) => modelDetails(endpoint, call));
    ctx.route("GET", "/channels", modelRoutes.channels, async () => {
      await updateBudgets(engine);
      return describeEverywhere(engine, workers);
    });
    ctx.route("GET", "/providers", modelRoutes.providers, () => ({
      providers: ctx.list("provider").map(describeProvider),
    }));
    ctx.route("POST", "/channels/:name/test", modelRoutes.testChannel, (call) =>
      testChannel(engine, listings, call),
    );

    ctx.provide("channels", {
      list: () => describeChannels(engine).channels,
      targets: (model) => targetsOf(engine, model),
      runs: (provider) => runsEverywhere(runs, provider, workers),
    });
    ctx.add("notice", { name: "channels", list: () => channelNotices(engine) });
    const service = createModelsService(endpoint, (channel) =>
      defaultModel(channels.all().values(), { listings, provider: channels.provider, channel }),
    );
    ctx.provide("models", service);
    // The name that plugins of users know.
    ctx.provide("chat", service);
  },
});
