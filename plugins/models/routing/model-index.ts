/** Looks up the channels of a bare model name without visiting each channel. */
import { fitsPattern } from "portico/strings";
import type { Channel } from "./channel.ts";

/** A channel with its place in the configuration. */
interface PlacedChannel {
  channel: Channel;
  place: number;
}

interface ModelIndex {
  /** Channels by each exact name in their `models`. */
  byName: ReadonlyMap<string, readonly PlacedChannel[]>;
  /** Channels with patterns in `models`. */
  patterned: readonly (PlacedChannel & { patterns: readonly string[] })[];
  /** Channels without `models`: their upstreams list the models. */
  unlisted: readonly Channel[];
}

/** Each change of the configuration creates a new map of channels, and so a new index. */
const indexes = new WeakMap<ReadonlyMap<string, Channel>, ModelIndex>();

/** Returns the channels whose `models` contain or match the name, in configured order, and those without `models`. */
export function channelsListing(
  channels: ReadonlyMap<string, Channel>,
  model: string,
): { listed: Channel[]; unlisted: readonly Channel[] } {
  const index = indexOf(channels);
  const exact = index.byName.get(model) ?? [];
  const matching = index.patterned.filter(({ patterns }) =>
    patterns.some((pattern) => fitsPattern(pattern, model)),
  );
  const all = [
    ...exact,
    ...matching.filter(({ channel }) => !exact.some((match) => match.channel === channel)),
  ];
  all.sort((a, b) => a.place - b.place);
  return { listed: all.map(({ channel }) => channel), unlisted: index.unlisted };
}

function indexOf(channels: ReadonlyMap<string, Channel>): ModelIndex {
  let index = indexes.get(channels);
  if (index === undefined) {
    index = buildIndex(channels);
    indexes.set(channels, index);
  }
  return index;
}

function buildIndex(channels: ReadonlyMap<string, Channel>): ModelIndex {
  const byName = new Map<string, readonly PlacedChannel[]>();
  const patterned: (PlacedChannel & { patterns: string[] })[] = [];
  const unlisted: Channel[] = [];
  for (const [place, channel] of [...channels.values()].entries()) {
    if (!channel.enabled || channel.builtin) continue;
    const { models } = channel.config;
    if (models === undefined) {
      unlisted.push(channel);
      continue;
    }
    const patterns = models.filter(isPattern);
    if (patterns.length > 0) patterned.push({ channel, place, patterns });
    const names = new Set(models.filter((name) => !isPattern(name)));
    for (const name of names) byName.set(name, [...(byName.get(name) ?? []), { channel, place }]);
  }
  return { byName, patterned, unlisted };
}

function isPattern(name: string): boolean {
  return name.includes("*");
}
