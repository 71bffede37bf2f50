/** Resolves a model's name to the targets that are tried, in their order. */
import { type AliasShape, shapeOf } from "./alias-shape.ts";
import type { Channel } from "./channel.ts";
import { channelsListing } from "./model-index.ts";
import { checkModelName } from "./model-name.ts";
import type { AliasConfig, Aliases } from "../schema.ts";
import { errors } from "../errors.ts";

/** A channel and the upstream's own name of the model. */
export interface Candidate {
  channel: Channel;
  model: string;
  /** What the alias that led here makes of a request. */
  shape?: AliasShape | undefined;
}

/** The names that the upstream of a channel lists, or `unknown` if it gives no list. */
export type Listing = readonly string[] | "unknown";

export interface Routing {
  channels(): ReadonlyMap<string, Channel>;
  aliases(): Aliases;
  /** What a channel without `models` lists; cached, and a promise only where the upstream must be asked first. */
  listing(channel: Channel): Listing | Promise<Listing>;
  /** US dollars of a request of common size; undefined where the price is not known. */
  priceOf(to: Candidate): Promise<number | undefined>;
  /** In [0, 1). */
  random(): number;
}

/**
 * The candidates of a model: an alias; `<channel>/<model>`; the channels that list it. Throws `model_not_found` (404).
 * A channel whose upstream gives no list comes last: it may know the model, and else its own 404 moves the request on.
 */
export function resolve(
  routing: Routing,
  model: string,
  only?: string,
): Candidate[] | Promise<Candidate[]> {
  const resolved = resolveName(routing, model, 0);
  return resolved instanceof Promise
    ? resolved.then((list) => finish(routing, model, list, only))
    : finish(routing, model, resolved, only);
}

/** The same for a name that may lead nowhere: none then. */
export function candidatesOf(routing: Routing, model: string): Candidate[] | Promise<Candidate[]> {
  return resolveName(routing, model, 0);
}

/** The candidates of a list of models, in its order; one that leads nowhere is passed over unless all do. */
export async function resolveList(
  routing: Routing,
  [first, ...others]: readonly [string, ...string[]],
  only: string | undefined,
): Promise<Candidate[]> {
  const more = (await Promise.all(others.map((model) => candidatesOf(routing, model)))).flat();
  const alone = more.length === 0 || only !== undefined;
  return unique([
    ...(await (alone ? resolve(routing, first, only) : candidatesOf(routing, first))),
    ...more,
  ]);
}

function finish(
  routing: Routing,
  model: string,
  found: Candidate[],
  only: string | undefined,
): Candidate[] {
  let list = found;
  if (only !== undefined) {
    const channel = requireChannel(routing.channels(), only);
    list = list.filter((candidate) => candidate.channel === channel);
    // A caller who names the channel means its own model, whether or not it lists it.
    if (list.length === 0) list = [{ channel, model }];
  }
  if (list.length > 0) return list;
  throw errors.unknownModel(
    { model, hint: hint(routing, model) },
    { param: "model", type: "invalid_request_error", details: { model } },
  );
}

/** The channel that a caller names. Throws `invalid_request_error` where there is none, or where it is disabled. */
export function requireChannel(channels: ReadonlyMap<string, Channel>, name: string): Channel {
  const channel = channels.get(name);
  if (channel?.enabled === true) return channel;
  throw errors.unknownChannelAsked({ channel: name }, { param: "channel" });
}

function hint(routing: Routing, model: string): string {
  if (routing.aliases().has(model))
    return ": none of the targets of this alias names an enabled channel";
  const channel = routing.channels().get(model) ?? namedChannel(routing.channels(), model);
  if (channel !== undefined && !channel.enabled)
    return `: the channel \`${channel.name}\` is switched off`;
  return "";
}

/** Aliases may name aliases; a circle of them ends at this depth. */
const MAX_DEPTH = 8;

function resolveName(
  routing: Routing,
  model: string,
  depth: number,
): Candidate[] | Promise<Candidate[]> {
  checkModelName(model);
  const alias = routing.aliases().get(model);
  if (alias !== undefined && depth < MAX_DEPTH) return resolveAlias(routing, alias, depth);
  const channels = routing.channels();
  const channel = namedChannel(channels, model);
  if (channel !== undefined)
    return channel.enabled ? [{ channel, model: model.slice(channel.name.length + 1) }] : [];
  const own = channels.get(model);
  if (own?.builtin === true && own.enabled) return [{ channel: own, model }];
  return resolveListed(routing, model);
}

/** The channel that a client names before a slash; an alias may look like that. */
export function channelNamedIn(routing: Routing, model: string): string | undefined {
  return routing.aliases().has(model) ? undefined : namedChannel(routing.channels(), model)?.name;
}

/** Whose name stands before a slash and a model. */
function namedChannel(channels: ReadonlyMap<string, Channel>, model: string): Channel | undefined {
  const slash = model.indexOf("/");
  if (slash <= 0 || slash + 1 === model.length) return undefined;
  const first = channels.get(model.slice(0, slash));
  if (first !== undefined) return first;
  for (const channel of channels.values()) {
    const { length } = channel.name;
    if (
      length > slash &&
      length + 1 < model.length &&
      model.startsWith(channel.name) &&
      model[length] === "/"
    )
      return channel;
  }
  return undefined;
}

function resolveAlias(
  routing: Routing,
  alias: AliasConfig,
  depth: number,
): Candidate[] | Promise<Candidate[]> {
  if (typeof alias === "string") return resolveName(routing, alias, depth + 1);
  const parts = alias.targets.map((target) => resolveName(routing, target, depth + 1));
  const shape = shapeOf(alias);
  const join = (found: Candidate[][]): Candidate[] | Promise<Candidate[]> => {
    // An alias that leads to another is asked by its own rules first.
    const lists =
      shape === undefined ? found : found.map((list) => list.map((one) => ({ ...one, shape })));
    if (alias.strategy === "cost") return byCost(unique(lists.flat()), routing);
    if (alias.strategy === "latency") return byLatency(unique(lists.flat()));
    if (alias.strategy !== "weighted") return unique(lists.flat());
    const groups = lists.filter((list) => list.length > 0);
    return unique(
      shuffleByWeight(groups, (list) => list[0]!.channel.weight, routing.random).flat(),
    );
  };
  return parts.some((part) => part instanceof Promise)
    ? Promise.all(parts).then(join)
    : join(parts as Candidate[][]);
}

/** A channel without a measurement comes first: only so it gets one. */
function byLatency(list: Candidate[]): Candidate[] {
  return list.sort((a, b) => (a.channel.latencyMs ?? 0) - (b.channel.latencyMs ?? 0));
}

/** The cheapest first, those without a price last; of equals the first that was named. */
async function byCost(list: Candidate[], routing: Routing): Promise<Candidate[]> {
  const priced = await Promise.all(
    list.map(async (one) => ({ one, price: (await routing.priceOf(one)) ?? Infinity })),
  );
  return priced.sort((a, b) => (a.price === b.price ? 0 : a.price - b.price)).map(({ one }) => one);
}

function resolveListed(routing: Routing, model: string): Candidate[] | Promise<Candidate[]> {
  const { listed, unlisted } = channelsListing(routing.channels(), model);
  const unknown: Channel[] = [];
  const waiting: Promise<void>[] = [];
  const take = (channel: Channel, listing: Listing): void => {
    if (listing === "unknown") unknown.push(channel);
    else if (listing.includes(model)) listed.push(channel);
  };
  for (const channel of unlisted) {
    const listing = routing.listing(channel);
    if (listing instanceof Promise) waiting.push(listing.then((names) => take(channel, names)));
    else take(channel, listing);
  }
  const order = () =>
    [...byPriority(listed, routing.random), ...byPriority(unknown, routing.random)].map(
      (channel) => ({
        channel,
        model,
      }),
    );
  return waiting.length === 0 ? order() : Promise.all(waiting).then(order);
}

/** Higher priority first; within one, a random order in which the weights say how often each is first. */
export function byPriority(channels: readonly Channel[], random: () => number): Channel[] {
  if (channels.length < 2) return [...channels];
  const groups = new Map<number, Channel[]>();
  for (const channel of channels) {
    const group = groups.get(channel.priority);
    if (group === undefined) groups.set(channel.priority, [channel]);
    else group.push(channel);
  }
  return [...groups.entries()]
    .sort(([a], [b]) => b - a)
    .flatMap(([, group]) => shuffleByWeight(group, (channel) => channel.weight, random));
}

/** A random order without repetition; an item of weight 0 comes after all others. */
export function shuffleByWeight<T>(
  items: readonly T[],
  weightOf: (item: T) => number,
  random: () => number,
): T[] {
  const rest = [...items];
  const out: T[] = [];
  while (rest.length > 1) {
    const total = rest.reduce((sum, item) => sum + weightOf(item), 0);
    out.push(...rest.splice(placeAt(random() * total, rest.map(weightOf)), 1));
  }
  return [...out, ...rest];
}

/** Whose share of the weights, laid out in a row, the point lies in. */
function placeAt(point: number, weights: readonly number[]): number {
  let end = 0;
  for (const [i, weight] of weights.entries()) {
    end += weight;
    if (weight > 0 && point < end) return i;
  }
  return 0;
}

function unique(list: Candidate[]): Candidate[] {
  const seen = new Set<string>();
  return list.filter(({ channel, model }) => {
    const key = `${channel.name}/${model}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}
