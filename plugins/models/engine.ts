/** Assembles the engine of the plugin's configuration: channels, routing, limits, and the client for upstreams. */
import type { ChatPricing } from "portico/models";
import { createMasks, type Masks } from "portico/secrets";
import type { Engine } from "./routing/attempts.ts";
import { createBudgets } from "./routing/budget.ts";
import { type ChannelSet, createChannelSet } from "./routing/channels.ts";
import { noReservations, RENEW_MS, Spending } from "./routing/limits/spending.ts";
import { createListings, type Listings } from "./routing/models.ts";
import { createChannelServices, type CooldownMessage } from "./routing/channel-services.ts";
import type { Aliases, EngineConfig, EngineContext } from "./schema.ts";
import { Signatures } from "./signatures/signatures.ts";
import { createUpstreamClient } from "./upstream/http/upstream-client.ts";
import { createRunCounts } from "./upstream/run-counts.ts";

/** The size of request by whose price targets are compared: prompts are longer than responses. */
const COMMON_SIZE = { prompt_tokens: 3000, completion_tokens: 1000, total_tokens: 4000 };

type PricingSource = () => ChatPricing | undefined;

/** Creates the engine. Everything in it stops when the plugin is unloaded. */
export function createEngine(
  ctx: EngineContext,
  config: EngineConfig,
): { engine: Engine; listings: Listings } {
  const { channels, aliases } = followConfig(ctx, config);
  const { provider } = channels;
  const upstreams = createUpstreamClient(process.env);
  ctx.defer(() => upstreams.close());
  const masks = createProviderMasks(ctx, channels);
  const services = { upstreams, masks, log: ctx.log, ownPorts: () => ctx.ports() };
  const listings = createListings({ ...services, provider, now: Date.now });
  const pricing = () => ctx.list("pricing")[0];
  const engine: Engine = {
    ...services,
    provider,
    signatures: new Signatures({ kv: () => ctx.find("store")?.kv, now: Date.now }),
    budgets: createBudgets(pricing),
    spending: createSpending(ctx, channels, pricing),
    runs: createRunCounts(),
    routing: {
      channels: channels.all,
      aliases,
      listing: listings.of,
      priceOf: async ({
        channel: {
          name,
          config: { provider: providerName },
        },
        model,
      }) => pricing()?.costOf({ channel: name, provider: providerName, model }, COMMON_SIZE),
      random: Math.random,
    },
  };
  return { engine, listings };
}

/** Keeps the channels and aliases up to date with the configuration, and adds the built-in channels of providers. */
function followConfig(
  ctx: EngineContext,
  config: EngineConfig,
): { channels: ChannelSet; aliases: () => Aliases } {
  const channels = createChannelSet(createChannelServices(ctx));
  let aliases: Aliases = new Map();
  const apply = (next: EngineConfig): void => {
    channels.configure(next["channels.*"] ?? {});
    aliases = new Map(Object.entries(next["models.*"] ?? {}));
  };
  apply(config);
  ctx.onConfig(apply);
  channels.provide(ctx.list("provider"));
  ctx.watch("provider", () => channels.provide(ctx.list("provider")));
  ctx.add("signal", {
    name: "channels",
    take: (message: CooldownMessage) => channels.all().get(message.channel)?.learn(message),
  });
  return { channels, aliases: () => aliases };
}

function createProviderMasks(ctx: EngineContext, channels: ChannelSet): Masks {
  return createMasks({
    configured: () => ctx.secrets(),
    provided: (name) =>
      name === undefined
        ? ctx.list("provider").flatMap((provider) => provider.secrets?.() ?? [])
        : (channels.provider(name)?.secrets?.() ?? []),
  });
}

function createSpending(
  ctx: EngineContext,
  channels: ChannelSet,
  pricing: PricingSource,
): Spending {
  const services = {
    store: () => ctx.find("store"),
    pricing,
    gates: () => ctx.list("gate"),
    channels: () => channels.all().values(),
    log: ctx.log,
  };
  const spending = new Spending(services, ctx.keep("reservations", noReservations));
  ctx.task("renew reservations", { everyMs: RENEW_MS }, () => spending.renew());
  return spending;
}
