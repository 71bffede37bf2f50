/** The models that upstreams list, and those that `GET /v1/models` shows. */
import { isPorticoError } from "portico";
import { fitsPattern } from "portico/strings";
import { type ChatProvider, upstreamError } from "portico/provider";
import type { Channel } from "./channel.ts";
import type { Aliases } from "../schema.ts";
import type { Listing } from "./router.ts";
import { AttemptTarget, type TargetServices } from "../upstream/target.ts";
import { errors } from "../errors.ts";

const FRESH_MS = 5 * 60_000;
/** A list that could not be fetched is fetched again after this. */
const RETRY_MS = 30_000;
const TIMEOUT_MS = 4_000;

export interface ModelEntry {
  id: string;
  object: "model";
  created: number;
  owned_by: string;
  /** Tokens; absent where it is not known. */
  context_window?: number | undefined;
  /** US dollars per token, as texts; absent where they are not known. */
  pricing?: ModelPricing | undefined;
}

export interface ModelPricing {
  prompt: string;
  completion: string;
  input_cache_read?: string | undefined;
}

interface Kept {
  listing: Listing;
  until: number;
  asking?: Promise<Listing>;
}

export interface ListingOptions extends TargetServices {
  provider(name: string): ChatProvider | undefined;
  now: () => number;
}

/**
 * The lists of upstreams, cached for five minutes by channel. A stale list is used while a new one is fetched; only the
 * very first question waits.
 */
export function createListings(options: ListingOptions) {
  const kept = new WeakMap<Channel, Kept>();

  function of(channel: Channel): Listing | Promise<Listing> {
    // one that asks other models knows its own: nothing is fetched, and a change of the configuration shows at once
    if (options.provider(channel.config.provider)?.composite === true)
      return ask(channel).catch(() => "unknown");
    let entry = kept.get(channel);
    if (entry !== undefined && entry.until > options.now()) return entry.listing;
    if (entry?.asking !== undefined) return entry.until > 0 ? entry.listing : entry.asking;
    const first = entry === undefined;
    entry ??= { listing: "unknown", until: 0 };
    const into = entry;
    kept.set(channel, into);
    const asking = ask(channel).then(
      (names) => {
        into.listing = names;
        into.until = options.now() + FRESH_MS;
      },
      (error: unknown) => {
        options.log.debug(
          { channel: channel.name, err: error },
          "the upstream's models could not be listed",
        );
        into.until = options.now() + RETRY_MS;
      },
    );
    into.asking = asking.then(() => {
      delete into.asking;
      return into.listing;
    });
    return first ? into.asking : into.listing;
  }

  async function ask(channel: Channel): Promise<string[]> {
    const provider = options.provider(channel.config.provider);
    if (provider === undefined) throw errors.providerUnknown({ provider: channel.config.provider });
    const { defaultBaseUrl } = provider;
    const target = new AttemptTarget(options, {
      channel,
      model: "",
      apiKey: channel.takeKey("").value,
      defaultBaseUrl,
    });
    if (provider.models !== undefined) return await inTime(provider.models(target), target);
    const list = provider.wire?.listModels;
    if (list === undefined || target.baseUrl === "")
      throw errors.listingUnsupported({ provider: provider.name, channel: channel.name });
    const authorized = target.authorize(provider.wire!);
    if (authorized !== undefined) await authorized;
    const { status, headers, body } = await target.request(list.encode(target), TIMEOUT_MS);
    if (status < 200 || status >= 300)
      throw upstreamError(provider.wire!.error(status, headers, body), status);
    // A name of nothing is none: no request could ask for it.
    return target.mask.value(list.decode(body)).filter((name) => name !== "");
  }

  return {
    of,
    /** Fetches again, whatever is cached. Throws if the upstream gives no list. */
    ask,
  };
}
export type Listings = ReturnType<typeof createListings>;

/** Rejects if a provider of this process takes too long, and aborts its signal. */
async function inTime<T>(work: Promise<T> | T, target: AttemptTarget): Promise<T> {
  if (!(work instanceof Object && "then" in work)) return work;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = errors.listingTimeout({ ms: TIMEOUT_MS });
      target.stop(error);
      reject(error);
    }, TIMEOUT_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Aliases, then `<channel>/<model>` of every enabled channel, then what is built in; ids are unique. */
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
  const put = (id: string, owner: string) => {
    if (!entries.has(id))
      entries.set(id, { id, object: "model", created: options.created, owned_by: owner });
  };
  for (const alias of aliases.keys()) put(alias, "portico");
  enabled.forEach((channel, i) => {
    for (const id of names[i]!) put(id, channel.name);
  });
  return [...entries.values()];
}

/** `<channel>/<model>` for each model of a channel; none if its upstream gives no list. */
export async function namesOf(
  channel: Channel,
  options: { listings: Listings; provider(name: string): ChatProvider | undefined },
): Promise<string[]> {
  const under = (name: string) => `${channel.name}/${name}`;
  if (channel.builtin) {
    const provider = options.provider(channel.config.provider);
    const own = provider?.models === undefined ? [] : await options.listings.of(channel);
    return [
      channel.name,
      ...(own === "unknown" ? [] : own.filter((name) => name !== channel.name).map(under)),
    ];
  }
  const patterns = channel.config.models;
  if (patterns !== undefined && !patterns.some((pattern) => pattern.includes("*")))
    return patterns.map(under);
  const listing = await options.listings.of(channel);
  const listed = listing === "unknown" ? [] : listing;
  if (patterns === undefined) return listed.map(under);
  const exact = patterns.filter((pattern) => !pattern.includes("*"));

  return [
    ...exact,
    ...listed.filter((name) => patterns.some((pattern) => fitsPattern(pattern, name))),
  ].map(under);
}

/** One line for people: why a channel's test failed. */
export function reason(error: unknown): string {
  return isPorticoError(error)
    ? error.message
    : "It failed because of an error in the gateway. See the log for details.";
}
