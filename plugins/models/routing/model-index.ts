/** Looks up the channels of a bare model name without a look at each channel. */
import { fitsPattern } from "portico/strings";
import type { Channel } from "./channel.ts";

/** A channel with its place in the configuration. */
interface Placed {
  channel: Channel;
  place: number;
}

interface ModelIndex {
  /** By an exact name in `models`. */
  byName: ReadonlyMap<string, readonly Placed[]>;
  /** With patterns in `models`. */
  patterned: readonly (Placed & { patterns: readonly string[] })[];
  /** Without `models`: their upstreams list them. */
  unlisted: readonly Channel[];
}

/** The channels are a new map after each change of the configuration. */
const indexes = new WeakMap<ReadonlyMap<string, Channel>, ModelIndex>();

/** The channels whose `models` hold the name, in their order, and those that leave it to their upstream. */
export function channelsListing(
  channels: ReadonlyMap<string, Channel>,
  model: string,
): { listed: Channel[]; unlisted: readonly Channel[] } {
  const index = indexOf(channels);
  const named = index.byName.get(model) ?? [];
  const fitting = index.patterned.filter(({ patterns }) =>
    patterns.some((pattern) => fitsPattern(pattern, model)),
  );
  const all = [
    ...named,
    ...fitting.filter(({ channel }) => !named.some((one) => one.channel === channel)),
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
  const byName = new Map<string, readonly Placed[]>();
  const patterned: (Placed & { patterns: string[] })[] = [];
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
