/** The routes that `portico channels` and the dashboard use. */
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
  /** What is wrong with it, in words: `portico status` and the console say the same. Absent where nothing is. */
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

/** A provider as anyone who adds a channel needs to know it. */
export function describeProvider({
  name,
  description,
  defaultBaseUrl,
  builtinChannel,
  composite,
}: ChatProvider) {
  return { name, description, baseUrl: defaultBaseUrl, builtinChannel, composite };
}

/** Where a model's name leads. */
export async function targetsOf(
  { routing, provider }: Engine,
  model: string,
): Promise<ModelTarget[]> {
  return (await candidatesOf(routing, model)).map(({ channel: { name, config }, model: own }) => ({
    channel: name,
    provider: config.provider,
    model: own,
    composite: provider(config.provider)?.composite === true,
  }));
}

/** Looks up what channels with a budget have cost; what cannot be known stays as it was. */
export async function updateBudgets({ routing, budgets }: Engine): Promise<void> {
  await Promise.allSettled(
    [...routing.channels().values()].map((channel) => budgets.check(channel)),
  );
}

const TOPIC = "channels";

/** The other workers answer with what their channels have done. */
export function offerChannels(engine: Engine, workers: Workers): Dispose {
  return workers.on(TOPIC, () => describeChannels(engine).channels);
}

/** How bad each state is. */
const SEVERITY = { ok: 0, disabled: 0, failing: 1, resting: 2 };

/**
 * What all workers' channels have done, and how they do: the worst state that one of them knows. The rest is the same in
 * all of them.
 */
export async function describeEverywhere(
  engine: Engine,
  workers?: Workers,
): Promise<{ channels: ChannelEntry[] }> {
  const { channels } = describeChannels(engine);
  const others = (await workers?.askAll<ChannelEntry[]>(TOPIC))?.flat() ?? [];
  for (const channel of channels)
    for (const other of others) if (other.name === channel.name) addWorker(channel, other);
  return { channels };
}

function addWorker(channel: ChannelEntry, other: ChannelEntry): void {
  for (const count of ["inFlight", "queued", "requests", "errors"] as const)
    channel[count] += other[count];
  if (SEVERITY[other.state] > SEVERITY[channel.state]) {
    const { state, problem, failures, restingUntil, restingModels, failingModels } = other;
    const worse = { state, problem, failures, restingUntil, restingModels, failingModels };
    Object.assign(channel, worse);
  }
  if ((other.lastErrorAt ?? "") > (channel.lastErrorAt ?? ""))
    Object.assign(channel, { lastError: other.lastError, lastErrorAt: other.lastErrorAt });
}

/** For `portico status`: the problem of each channel, as the list of channels has it. */
export async function channelNotices(engine: Engine, workers?: Workers): Promise<string[]> {
  await updateBudgets(engine);
  const { channels } = await describeEverywhere(engine, workers);
  const problems = channels.flatMap(({ name, problem }) =>
    problem ? [`${name}: ${problem}`] : [],
  );
  return [...problems, ...(await budgetNotices(engine))];
}

/** Channels whose budget cannot count some of their models. */
async function budgetNotices({ routing }: Engine): Promise<string[]> {
  const notices: string[] = [];
  for (const channel of routing.channels().values()) {
    if (channel.config.budget === undefined || !channel.enabled) continue;
    const names = (channel.config.models ?? []).filter((name) => !name.includes("*"));
    const prices = await Promise.all(names.map((model) => routing.priceOf({ channel, model })));
    const unpriced = names.filter((_, i) => prices[i] === undefined);
    if (unpriced.length > 0)
      notices.push(
        `${channel.name}: the budget does not count ${unpriced.slice(0, 3).join(", ")}, because the price is not known. Set usage.prices.`,
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
  /** How many models the upstream lists, or why it gave no list. */
  models?: number;
  modelsError?: string;
  /** Neither the channel nor its upstream names a model, so none was asked: it may work all the same. */
  unnamed?: boolean;
  /** The model that was asked for a word, its response and time. */
  model?: string;
  answer?: string;
  ms?: number;
  error?: string;
}

/** Lists the channel's models and asks one (`{"model"}` of the body, else the first for chat) for a word. */
export async function testChannel(
  engine: Engine,
  listings: Listings,
  call: Call,
): Promise<ChannelTest> {
  const name = call.params["name"] ?? "";
  const channel = engine.routing.channels().get(name);
  if (channel === undefined) throw errors.unknownChannel({ channel: name });
  const { model: asked } = await call.json<{ model?: string }>();
  const { names, result } = await listModels(engine, listings, channel);
  const model = typeof asked === "string" ? asked : modelToTest(engine, channel, names, result);
  if (model === undefined) return unnamed(engine, channel, result);
  return askForAWord(engine, call, { name, model, result });
}

/** The models that the channel lists, with what a test reports of them. */
async function listModels(
  engine: Engine,
  listings: Listings,
  channel: Channel,
): Promise<{ names: string[]; result: ChannelTest }> {
  const provider = engine.provider(channel.config.provider);
  const mayList = provider === undefined || provider.models || provider.wire;
  if (channel.builtin || !mayList) return { names: [], result: { ok: false } };
  try {
    const names = await listings.ask(channel);
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
  const fitting = names.filter((model) => patterns.some((pattern) => fitsPattern(pattern, model)));
  const listed = firstChatModel(exact) ?? firstChatModel(fitting);
  if (listed !== undefined) return listed;
  // A provider's own channel, and one of this process that lists none, take any name.
  const provider = engine.provider(channel.config.provider);
  const takesAny =
    channel.builtin ||
    (provider !== undefined && provider.wire === undefined && modelsError === undefined);
  return takesAny ? channel.name : undefined;
}

function unnamed(engine: Engine, channel: Channel, result: ChannelTest): ChannelTest {
  const provider = engine.provider(channel.config.provider);
  const lists =
    provider === undefined || (provider.models ?? provider.wire?.listModels) !== undefined;
  return {
    ...result,
    unnamed: !lists || result.modelsError === undefined,
    error: result.modelsError ?? "The upstream lists no model. Name one with --model.",
  };
}

async function askForAWord(
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
