/** Resolves the name of a model to its targets, in the order in which they are tried. */
import { type AliasShape, shapeOf } from "./alias-shape.ts";
import type { Channel } from "./channel.ts";
import { channelsListing } from "./model-index.ts";
import { checkModelName } from "./model-name.ts";
import type { AliasConfig, Aliases } from "../schema.ts";
import { errors } from "../errors.ts";

/** A channel, and the name of the model at its upstream. */
export interface Candidate {
  channel: Channel;
  model: string;
  /** How the alias that led to this target changes the request. */
  shape?: AliasShape | undefined;
}

/** The names that the upstream of a channel lists, or `unknown` if it gives no list. */
export type Listing = readonly string[] | "unknown";

export interface Routing {
  channels(): ReadonlyMap<string, Channel>;
  aliases(): Aliases;
  /** The models that the upstream of a channel lists; cached. A promise only if the upstream must be asked first. */
  listing(channel: Channel): Listing | Promise<Listing>;
  /** The price of a request of common size in US dollars; undefined if it is not known. */
  priceOf(candidate: Candidate): Promise<number | undefined>;
  /** Returns a number in [0, 1). */
  random(): number;
}

/**
 * Returns the candidates of a model: those of an alias, of `<channel>/<model>`, or the channels that list the model.
 * Throws `model_not_found` (404). A channel whose upstream gives no list comes last: it may know the model, and
 * otherwise its own 404 makes the request fall back.
 */
export function resolve(
  routing: Routing,
  model: string,
  onlyChannel?: string,
): Candidate[] | Promise<Candidate[]> {
  const resolved = resolveName(routing, model, 0);
  return resolved instanceof Promise
    ? resolved.then((list) => finish(routing, model, list, onlyChannel))
    : finish(routing, model, resolved, onlyChannel);
}

/** Like `resolve`, but returns an empty list for an unknown model. */
export function candidatesOf(routing: Routing, model: string): Candidate[] | Promise<Candidate[]> {
  return resolveName(routing, model, 0);
}

/** Returns the candidates of a list of models, in its order. An unknown model is skipped unless all are unknown. */
export async function resolveList(
  routing: Routing,
  [first, ...others]: readonly [string, ...string[]],
  onlyChannel: string | undefined,
): Promise<Candidate[]> {
  const more = (await Promise.all(others.map((model) => candidatesOf(routing, model)))).flat();
  const mustResolve = more.length === 0 || onlyChannel !== undefined;
  return removeDuplicates([
    ...(await (mustResolve ? resolve(routing, first, onlyChannel) : candidatesOf(routing, first))),
    ...more,
  ]);
}

function finish(
  routing: Routing,
  model: string,
  resolved: Candidate[],
  onlyChannel: string | undefined,
): Candidate[] {
  let list = resolved;
  if (onlyChannel !== undefined) {
    const channel = requireChannel(routing.channels(), onlyChannel);
    list = list.filter((candidate) => candidate.channel === channel);
    // A caller who names the channel means a model of that channel, whether or not the channel lists it.
    if (list.length === 0) list = [{ channel, model }];
  }
  if (list.length > 0) return list;
  throw errors.unknownModel(
    { model, hint: hintFor(routing, model) },
    { param: "model", type: "invalid_request_error", details: { model } },
  );
}

/** Returns the channel that a caller names. Throws `invalid_request_error` if there is none, or if it is disabled. */
export function requireChannel(channels: ReadonlyMap<string, Channel>, name: string): Channel {
  const channel = channels.get(name);
  if (channel?.enabled === true) return channel;
  throw errors.unknownChannelAsked({ channel: name }, { param: "channel" });
}

function hintFor(routing: Routing, model: string): string {
  if (routing.aliases().has(model))
    return ": none of the targets of this alias names an enabled channel";
  const channel = routing.channels().get(model) ?? namedChannel(routing.channels(), model);
  if (channel !== undefined && !channel.enabled)
    return `: the channel \`${channel.name}\` is disabled`;
  return "";
}

/** Aliases may name aliases; a cycle of them ends at this depth. */
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
  const builtin = channels.get(model);
  if (builtin?.builtin === true && builtin.enabled) return [{ channel: builtin, model }];
  return resolveListed(routing, model);
}

/** Returns the channel that a client names before a slash. An alias may contain a slash as well. */
export function channelNamedIn(routing: Routing, model: string): string | undefined {
  return routing.aliases().has(model) ? undefined : namedChannel(routing.channels(), model)?.name;
}

/** Finds the channel whose name is before a slash and a model. Names of channels may contain slashes themselves. */
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
  const join = (lists: Candidate[][]): Candidate[] | Promise<Candidate[]> => {
    // If an alias leads to another one, the settings of the first one win.
    const shapedLists =
      shape === undefined
        ? lists
        : lists.map((list) => list.map((candidate) => ({ ...candidate, shape })));
    if (alias.strategy === "cost") return byCost(removeDuplicates(shapedLists.flat()), routing);
    if (alias.strategy === "latency") return byLatency(removeDuplicates(shapedLists.flat()));
    if (alias.strategy !== "weighted") return removeDuplicates(shapedLists.flat());
    const groups = shapedLists.filter((list) => list.length > 0);
    return removeDuplicates(
      shuffleByWeight(groups, (list) => list[0]!.channel.weight, routing.random).flat(),
    );
  };
  return parts.some((part) => part instanceof Promise)
    ? Promise.all(parts).then(join)
    : join(parts as Candidate[][]);
}

/** Sorts by latency. A channel without a measurement comes first, since it gets one only this way. */
function byLatency(list: Candidate[]): Candidate[] {
  return list.sort((a, b) => (a.channel.latencyMs ?? 0) - (b.channel.latencyMs ?? 0));
}

/** Sorts by price, candidates without a price last. Equals keep their order. */
async function byCost(list: Candidate[], routing: Routing): Promise<Candidate[]> {
  const priced = await Promise.all(
    list.map(async (candidate) => ({
      candidate,
      price: (await routing.priceOf(candidate)) ?? Infinity,
    })),
  );
  return priced
    .sort((a, b) => (a.price === b.price ? 0 : a.price - b.price))
    .map(({ candidate }) => candidate);
}

function resolveListed(routing: Routing, model: string): Candidate[] | Promise<Candidate[]> {
  const { listed, unlisted } = channelsListing(routing.channels(), model);
  const withoutList: Channel[] = [];
  const pendingListings: Promise<void>[] = [];
  const addChannel = (channel: Channel, listing: Listing): void => {
    if (listing === "unknown") withoutList.push(channel);
    else if (listing.includes(model)) listed.push(channel);
  };
  for (const channel of unlisted) {
    const listing = routing.listing(channel);
    if (listing instanceof Promise)
      pendingListings.push(listing.then((names) => addChannel(channel, names)));
    else addChannel(channel, listing);
  }
  const orderCandidates = () =>
    [...byPriority(listed, routing.random), ...byPriority(withoutList, routing.random)].map(
      (channel) => ({
        channel,
        model,
      }),
    );
  return pendingListings.length === 0
    ? orderCandidates()
    : Promise.all(pendingListings).then(orderCandidates);
}

/**
 * Sorts by priority, highest first. Channels of one priority are in a random order, each first as often as its weight
 * says.
 */
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

/** Shuffles the items. An item with a higher weight is more often first; one with weight 0 comes after all others. */
export function shuffleByWeight<T>(
  items: readonly T[],
  weightOf: (item: T) => number,
  random: () => number,
): T[] {
  const rest = [...items];
  const out: T[] = [];
  while (rest.length > 1) {
    const total = rest.reduce((sum, item) => sum + weightOf(item), 0);
    out.push(...rest.splice(indexAt(random() * total, rest.map(weightOf)), 1));
  }
  return [...out, ...rest];
}

/** Finds the index of the weight whose share contains the point if all weights are laid out in a row. */
function indexAt(point: number, weights: readonly number[]): number {
  let end = 0;
  for (const [i, weight] of weights.entries()) {
    end += weight;
    if (weight > 0 && point < end) return i;
  }
  return 0;
}

function removeDuplicates(list: Candidate[]): Candidate[] {
  const seenKeys = new Set<string>();
  return list.filter(({ channel, model }) => {
    const key = `${channel.name}/${model}`;
    if (seenKeys.has(key)) return false;
    seenKeys.add(key);
    return true;
  });
}
