/** Fetches the models that upstreams list, and builds the list of `GET /v1/models`. */
import { isPorticoError } from "portico";
import { fitsPattern } from "portico/strings";
import { type ChatProvider, upstreamError } from "portico/provider";
import type { Channel } from "./channel.ts";
import type { Aliases } from "../schema.ts";
import type { Listing } from "./router.ts";
import { AttemptTarget, type TargetServices } from "../upstream/target.ts";
import { errors } from "../errors.ts";

const FRESH_MS = 5 * 60_000;
/** A failed fetch is repeated after this time. */
const RETRY_MS = 30_000;
const TIMEOUT_MS = 4_000;

export interface ModelEntry {
  id: string;
  object: "model";
  created: number;
  owned_by: string;
  /** In tokens; absent if it is not known. */
  context_window?: number | undefined;
  /** US dollars per token, as strings; absent if they are not known. */
  pricing?: ModelPricing | undefined;
}

export interface ModelPricing {
  prompt: string;
  completion: string;
  input_cache_read?: string | undefined;
}

interface CacheEntry {
  listing: Listing;
  until: number;
  fetching?: Promise<Listing>;
}

export interface ListingOptions extends TargetServices {
  provider(name: string): ChatProvider | undefined;
  now: () => number;
}

/**
 * Caches the lists of upstreams for five minutes per channel. A stale list is used while a new one is fetched; only the
 * first caller waits.
 */
export function createListings(options: ListingOptions) {
  const cache = new WeakMap<Channel, CacheEntry>();

  function listingOf(channel: Channel): Listing | Promise<Listing> {
    // A composite provider knows its own models: nothing is fetched, and a change of the configuration shows at once.
    if (options.provider(channel.config.provider)?.composite === true)
      return fetch(channel).catch(() => "unknown");
    let entry = cache.get(channel);
    if (entry !== undefined && entry.until > options.now()) return entry.listing;
    if (entry?.fetching !== undefined) return entry.until > 0 ? entry.listing : entry.fetching;
    const isFirst = entry === undefined;
    entry ??= { listing: "unknown", until: 0 };
    const current = entry;
    cache.set(channel, current);
    const fetching = fetch(channel).then(
      (names) => {
        current.listing = names;
        current.until = options.now() + FRESH_MS;
      },
      (error: unknown) => {
        options.log.debug(
          { channel: channel.name, err: error },
          "the upstream's models could not be listed",
        );
        current.until = options.now() + RETRY_MS;
      },
    );
    current.fetching = fetching.then(() => {
      delete current.fetching;
      return current.listing;
    });
    return isFirst ? current.fetching : current.listing;
  }

  async function fetch(channel: Channel): Promise<string[]> {
    const provider = options.provider(channel.config.provider);
    if (provider === undefined) throw errors.providerUnknown({ provider: channel.config.provider });
    const { defaultBaseUrl } = provider;
    const target = new AttemptTarget(options, {
      channel,
      model: "",
      apiKey: channel.takeKey("").value,
      defaultBaseUrl,
    });
    if (provider.models !== undefined) return await withTimeout(provider.models(target), target);
    const list = provider.wire?.listModels;
    if (list === undefined || target.baseUrl === "")
      throw errors.listingUnsupported({ provider: provider.name, channel: channel.name });
    const authorized = target.authorize(provider.wire!);
    if (authorized !== undefined) await authorized;
    const { status, headers, body } = await target.request(list.encode(target), TIMEOUT_MS);
    if (status < 200 || status >= 300)
      throw upstreamError(provider.wire!.error(status, headers, body), status);
    // No request could name a model with an empty name.
    return target.mask.value(list.decode(body)).filter((name) => name !== "");
  }

  return {
    of: listingOf,
    /** Fetches the list regardless of the cache. Throws if the upstream gives no list. */
    fetch,
  };
}
export type Listings = ReturnType<typeof createListings>;

/** Rejects and aborts the target's signal if a provider in this process takes longer than `TIMEOUT_MS`. */
async function withTimeout<T>(work: Promise<T> | T, target: AttemptTarget): Promise<T> {
  if (!(work instanceof Object && "then" in work)) return work;
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = errors.listingTimeout({ ms: TIMEOUT_MS });
      target.stop(error);
      reject(error);
    }, TIMEOUT_MS);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** Lists the aliases, then `<channel>/<model>` of every enabled channel, built-in ones included. Ids are unique. */
export async function listModels(
  aliases: Aliases,
  channels: Iterable<Channel>,
  options: {
    listings: Listings;
    provider(name: string): ChatProvider | undefined;
    created: number;
  },
): Promise<ModelEntry[]> {
  const enabled = [...channels].filter((channel) => channel.enabled);
  const names = await Promise.all(enabled.map((channel) => namesOf(channel, options)));
  const entries = new Map<string, ModelEntry>();
  const addEntry = (id: string, owner: string) => {
    if (!entries.has(id))
      entries.set(id, { id, object: "model", created: options.created, owned_by: owner });
  };
  for (const alias of aliases.keys()) addEntry(alias, "portico");
  enabled.forEach((channel, i) => {
    for (const id of names[i]!) addEntry(id, channel.name);
  });
  return [...entries.values()];
}

/** Returns `<channel>/<model>` for each model of a channel; empty if its upstream gives no list. */
export async function namesOf(
  channel: Channel,
  options: { listings: Listings; provider(name: string): ChatProvider | undefined },
): Promise<string[]> {
  const qualify = (name: string) => `${channel.name}/${name}`;
  if (channel.builtin) {
    const provider = options.provider(channel.config.provider);
    const listing = provider?.models === undefined ? [] : await options.listings.of(channel);
    return [
      channel.name,
      ...(listing === "unknown"
        ? []
        : listing.filter((name) => name !== channel.name).map(qualify)),
    ];
  }
  const patterns = channel.config.models;
  if (patterns !== undefined && !patterns.some((pattern) => pattern.includes("*")))
    return patterns.map(qualify);
  const listing = await options.listings.of(channel);
  const listedNames = listing === "unknown" ? [] : listing;
  if (patterns === undefined) return listedNames.map(qualify);
  const exact = patterns.filter((pattern) => !pattern.includes("*"));

  return [
    ...exact,
    ...listedNames.filter((name) => patterns.some((pattern) => fitsPattern(pattern, name))),
  ].map(qualify);
}

/** Describes in one line for people why the test of a channel failed. */
export function describeFailure(error: unknown): string {
  return isPorticoError(error)
    ? error.message
    : "The test failed because of an error in the gateway. See the log for details.";
}
