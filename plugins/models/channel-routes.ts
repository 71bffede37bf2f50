/** The routes for `portico channels` and the console. */
import type { Call, Dispose, Workers } from "portico";
import { converse, type Engine } from "./routing/attempts.ts";
import type { ModelTarget } from "portico/models";
import type { ChatProvider } from "portico/provider";
import { type ChannelState, stateProblem } from "./routing/channel-state.ts";
import { fitsPattern } from "portico/strings";
import { firstChatModel } from "./routing/default-model.ts";
import { completionOf } from "./chat-response.ts";
import { Job } from "./job.ts";
import { candidatesOf } from "./routing/router.ts";
import { type Listings, describeFailure } from "./routing/models.ts";
import type { Channel } from "./routing/channel.ts";
import { errors } from "./errors.ts";

export interface ChannelEntry extends ChannelState {
  name: string;
  provider: string;
  /** The problem of the channel in words, also shown by `portico status` and the console. Absent if there is none. */
  problem?: string;
  baseUrl?: string;
  models?: string[];
  priority: number;
  weight: number;
  builtin: boolean;
}

export function describeChannels(engine: Engine): { channels: ChannelEntry[] } {
  const channels = [...engine.routing.channels().values()].map((channel): ChannelEntry => {
    const { config } = channel;
    const provider = engine.provider(config.provider);
    const baseUrl = config.baseUrl ?? provider?.defaultBaseUrl;
    const state = channel.describe();
    return {
      name: channel.name,
      provider: config.provider,
      builtin: channel.builtin,
      priority: channel.priority,
      weight: channel.weight,
      problem: provider ? stateProblem(state) : `there is no provider "${config.provider}"`,
      baseUrl: baseUrl === undefined ? undefined : withoutSecrets(baseUrl),
      models: config.models,
      ...state,
    };
  });
  return { channels };
}

/** Describes a provider for users who add a channel. */
export function describeProvider({
  name,
  description,
  defaultBaseUrl,
  builtinChannel,
  composite,
}: ChatProvider) {
  return { name, description, baseUrl: defaultBaseUrl, builtinChannel, composite };
}

/** Returns the targets of a model's name. */
export async function targetsOf(
  { routing, provider }: Engine,
  model: string,
): Promise<ModelTarget[]> {
  return (await candidatesOf(routing, model)).map(
    ({ channel: { name, config }, model: targetModel }) => ({
      channel: name,
      provider: config.provider,
      model: targetModel,
      composite: provider(config.provider)?.composite === true,
    }),
  );
}

/** Updates the costs of channels with a budget. A cost that cannot be read keeps its last value. */
export async function updateBudgets({ routing, budgets }: Engine): Promise<void> {
  await Promise.allSettled(
    [...routing.channels().values()].map((channel) => budgets.check(channel)),
  );
}

const TOPIC = "channels";

/** Lets the other workers query the channels of this one. */
export function offerChannels(engine: Engine, workers: Workers): Dispose {
  return workers.on(TOPIC, () => describeChannels(engine).channels);
}

/** The rank of each state: the worst one is shown. */
const SEVERITY = { ok: 0, disabled: 0, failing: 1, resting: 2 };

/**
 * Describes the channels over all workers: their counts added up, and the worst state of any worker. Everything else is
 * the same in all of them.
 */
export async function describeEverywhere(
  engine: Engine,
  workers?: Workers,
): Promise<{ channels: ChannelEntry[] }> {
  const { channels } = describeChannels(engine);
  const otherEntries = (await workers?.askAll<ChannelEntry[]>(TOPIC))?.flat() ?? [];
  for (const channel of channels)
    for (const other of otherEntries) if (other.name === channel.name) addWorker(channel, other);
  return { channels };
}

function addWorker(channel: ChannelEntry, other: ChannelEntry): void {
  for (const count of ["inFlight", "queued", "requests", "errors"] as const)
    channel[count] += other[count];
  if (SEVERITY[other.state] > SEVERITY[channel.state]) {
    const { state, problem, failures, restingUntil, overLimit } = other;
    const { restingModels, failingModels, restingKeys } = other;
    const lists = { restingModels, failingModels, restingKeys };
    Object.assign(channel, { state, problem, failures, restingUntil, overLimit, ...lists });
  }
  if ((other.lastErrorAt ?? "") > (channel.lastErrorAt ?? ""))
    Object.assign(channel, { lastError: other.lastError, lastErrorAt: other.lastErrorAt });
}

/** Returns the problems of channels for `portico status`, as the list of channels shows them. */
export async function channelNotices(engine: Engine, workers?: Workers): Promise<string[]> {
  await updateBudgets(engine);
  const { channels } = await describeEverywhere(engine, workers);
  const problems = channels.flatMap(({ name, problem }) =>
    problem ? [`${name}: ${problem}`] : [],
  );
  return [...problems, ...(await budgetNotices(engine))];
}

/** Names the channels whose budget cannot count some of their models. */
async function budgetNotices({ routing }: Engine): Promise<string[]> {
  const notices: string[] = [];
  for (const channel of routing.channels().values()) {
    if (channel.config.budget === undefined || !channel.enabled) continue;
    const names = (channel.config.models ?? []).filter((name) => !name.includes("*"));
    const prices = await Promise.all(names.map((model) => routing.priceOf({ channel, model })));
    const unpriced = names.filter((_, i) => prices[i] === undefined);
    if (unpriced.length > 0)
      notices.push(
        `${channel.name}: the budget does not count ${unpriced.slice(0, 3).join(", ")}, because their prices are not known. Add prices in usage.prices.`,
      );
  }
  return notices;
}

function withoutSecrets(url: string): string {
  try {
    const parsed = new URL(url);
    parsed.username = "";
    parsed.password = "";
    parsed.search = "";
    return parsed.href;
  } catch {
    return "";
  }
}

export interface ChannelTest {
  ok: boolean;
  /** The number of models that the upstream lists; `modelsError` says why it gave no list. */
  models?: number;
  modelsError?: string;
  /** Neither the channel nor its upstream names a model, so none was tested. The channel may still work. */
  unnamed?: boolean;
  /** The model that was tested, its response, and the time that it took. */
  model?: string;
  answer?: string;
  ms?: number;
  error?: string;
}

/** Lists the channel's models and requests a word from one: `{"model"}` of the body, or else the first one for chat. */
export async function testChannel(
  engine: Engine,
  listings: Listings,
  call: Call,
): Promise<ChannelTest> {
  const name = call.params["name"] ?? "";
  const channel = engine.routing.channels().get(name);
  if (channel === undefined) throw errors.unknownChannel({ channel: name });
  const { model: requestedModel } = await call.json<{ model?: string }>();
  const { names, result } = await listModels(engine, listings, channel);
  const model =
    typeof requestedModel === "string"
      ? requestedModel
      : modelToTest(engine, channel, names, result);
  if (model === undefined) return describeUnnamed(engine, channel, result);
  return requestWord(engine, call, { name, model, result });
}

/** Lists the models of a channel, with the part of the test result about them. */
async function listModels(
  engine: Engine,
  listings: Listings,
  channel: Channel,
): Promise<{ names: string[]; result: ChannelTest }> {
  const provider = engine.provider(channel.config.provider);
  const mayList = provider === undefined || provider.models || provider.wire;
  if (channel.builtin || !mayList) return { names: [], result: { ok: false } };
  try {
    const names = await listings.fetch(channel);
    return { names, result: { ok: false, models: names.length } };
  } catch (error) {
    const modelsError = engine.masks.all().text(describeFailure(error));
    return { names: [], result: { ok: false, modelsError } };
  }
}

function modelToTest(
  engine: Engine,
  channel: Channel,
  names: readonly string[],
  { modelsError }: ChannelTest,
): string | undefined {
  const patterns = channel.config.models ?? ["*"];
  const exact = patterns.filter((pattern) => !pattern.includes("*"));
  const matching = names.filter((model) => patterns.some((pattern) => fitsPattern(pattern, model)));
  const chatModel = firstChatModel(exact) ?? firstChatModel(matching);
  if (chatModel !== undefined) return chatModel;
  // A built-in channel, and one in this process that lists no models, accept any name.
  const provider = engine.provider(channel.config.provider);
  const acceptsAny =
    channel.builtin ||
    (provider !== undefined && provider.wire === undefined && modelsError === undefined);
  return acceptsAny ? channel.name : undefined;
}

function describeUnnamed(engine: Engine, channel: Channel, result: ChannelTest): ChannelTest {
  const provider = engine.provider(channel.config.provider);
  const canList =
    provider === undefined || (provider.models ?? provider.wire?.listModels) !== undefined;
  return {
    ...result,
    unnamed: !canList || result.modelsError === undefined,
    error: result.modelsError ?? "The upstream lists no models. Name a model with --model.",
  };
}

async function requestWord(
  engine: Engine,
  call: Call,
  { name, model, result }: { name: string; model: string; result: ChannelTest },
): Promise<ChannelTest> {
  const job = new Job({
    request: {
      model: `${name}/${model}`,
      messages: [{ role: "user", content: "Answer with the word pong." }],
      max_tokens: 16,
    },
    stream: false,
    requestId: call.id,
    client: call.client,
    sessionKey: "channels",
    channel: name,
  });
  const startedAt = performance.now();
  try {
    const completion = completionOf(await converse(engine, job));
    const content = completion.choices[0]?.message.content;
    return {
      ...result,
      ok: true,
      model,
      answer: typeof content === "string" ? content.slice(0, 200) : "",
      ms: Math.round(performance.now() - startedAt),
    };
  } catch (error) {
    return { ...result, model, error: engine.masks.all().text(describeFailure(error)) };
  }
}
