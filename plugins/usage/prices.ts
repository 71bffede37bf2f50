/** What tokens cost, by a list of prices that comes as a package: nothing is fetched. */
import { fitsPattern } from "portico/strings";
import type { ModelFacts } from "portico/models";
import type { Usage } from "portico/provider";
import type { OwnPrices, Price } from "./schema.ts";

export type Library = typeof import("@pydantic/genai-prices");
type Counts = Record<string, number>;

/** Where a request went. */
export interface Priced {
  channel: string;
  provider: string;
  model: string;
}
type Listed = Pick<Priced, "provider" | "model">;
/** US dollars; undefined where no price is known. */
export type CostOf = (to: Priced, usage: Usage, at: number) => number | undefined;

/** Providers that run here, or are this gateway: their answers cost nothing. */
const FREE = new Set(["echo", "agent", "ollama", "vllm", "lmstudio", "llamacpp"]);
/** Prices that depend on the time of day are looked up again after this. */
const FRESH_MS = 10 * 60_000;
const MOST_RATES = 1000;
/** Rates are read off the price of this many tokens. */
const PROBE = 1000;

/** US dollars per token. */
interface Rates {
  request: number;
  input: number;
  cacheRead: number;
  cacheWrite: number;
  output: number;
  /** Longer prompts than this have other prices. */
  upTo: number;
}

interface Kept {
  provider: string;
  model: string;
  /** Undefined where the list has no price. */
  rates: Rates | undefined;
  until: number;
}

/** True where a price is not known by heart, so that the list must be loaded. */
export function needsList(own: OwnPrices, to: Priced): boolean {
  return !FREE.has(to.provider) && ownPrice(own, to) === undefined;
}

/** `library` is undefined until it is needed. */
export function createPrices(own: OwnPrices, library: Library | undefined): CostOf {
  // The library takes a quarter of a millisecond for one price.
  const ratesByModel = new Map<string, Kept>();
  /** Of them, the one that was last asked for: most often the next one too. */
  let last: Kept | undefined;

  function ratesOf(lib: Library, to: Priced, at: number): Rates | undefined {
    if (
      last === undefined ||
      last.model !== to.model ||
      last.provider !== to.provider ||
      last.until <= at
    )
      last = lookAt(lib, to, at);
    return last.rates;
  }

  function lookAt(lib: Library, { provider, model }: Listed, at: number): Kept {
    const key = `${provider}/${model}`;
    let known = ratesByModel.get(key);
    if (known !== undefined && known.until > at) return known;
    if (ratesByModel.size >= MOST_RATES) ratesByModel.clear();
    const rates = readRates(lib, { provider, model }, at);
    known = {
      provider,
      model,
      rates,
      until: rates === undefined ? Number.POSITIVE_INFINITY : at + FRESH_MS,
    };
    ratesByModel.set(key, known);
    return known;
  }

  return (to, usage, at) => {
    const counts = countsOf(usage);
    const price = ownPrice(own, to);
    if (price !== undefined) return byOwnPrice(price, counts);
    if (FREE.has(to.provider)) return 0;
    if (library === undefined) return undefined;
    const rates = ratesOf(library, to, at);
    if (rates === undefined) return undefined;
    const { input, read, written, output } = counts;
    if (input > rates.upTo) return listPrice(library, to, counts, at);
    return (
      rates.request +
      (input - read - written) * rates.input +
      read * rates.cacheRead +
      written * rates.cacheWrite +
      output * rates.output
    );
  };
}

/** What is known of a model without asking it. `library` is undefined where it cannot be read. */
export function factsOf(
  own: OwnPrices,
  library: Library | undefined,
  to: Priced,
  at: number,
): ModelFacts {
  const listed = library && lookUp(library, to, { input_tokens: 1 }, at);
  const contextWindow = listed?.model.context_window;
  const price = ownPrice(own, to);
  if (price !== undefined) return { contextWindow, price };
  if (FREE.has(to.provider)) return { contextWindow, price: { input: 0, output: 0 } };
  const rates = library && readRates(library, to, at);
  if (rates === undefined) return { contextWindow };
  const perMillion = (rate: number) => roundUsd(rate * 1e6);
  const { input, output, cacheRead } = rates;
  const known = { input: perMillion(input), output: perMillion(output) };
  return { contextWindow, price: { ...known, cachedInput: perMillion(cacheRead) } };
}

interface TokenCounts {
  /** All of the prompt, the next two included. */
  input: number;
  read: number;
  written: number;
  output: number;
}

function countsOf(usage: Usage): TokenCounts {
  const details = usage.prompt_tokens_details ?? {};
  const read = count(details.cached_tokens);
  const written = count(details.cache_write_tokens);
  return {
    input: Math.max(count(usage.prompt_tokens), read + written),
    read,
    written,
    output: count(usage.completion_tokens),
  };
}

/** Adding fractions leaves crumbs, which no budget is missed by: a billionth of a dollar is nobody's concern. */
export function roundUsd(usd: number): number {
  return Math.round(usd * 1e9) / 1e9;
}

/** A number of tokens, whatever an upstream may have put there. */
export function count(value: unknown): number {
  return typeof value === "number" && value > 0 && Number.isFinite(value) ? Math.round(value) : 0;
}

function readRates(lib: Library, to: Listed, at: number): Rates | undefined {
  const none = { input: 0, read: 0, written: 0, output: 0 };
  const request = listPrice(lib, to, none, at);
  if (request === undefined) return undefined;
  const each = (counts: Partial<TokenCounts>) =>
    ((listPrice(lib, to, { ...none, ...counts }, at) ?? request) - request) / PROBE;
  return {
    request,
    input: each({ input: PROBE }),
    cacheRead: each({ input: PROBE, read: PROBE }),
    cacheWrite: each({ input: PROBE, written: PROBE }),
    output: each({ output: PROBE }),
    upTo: firstTier(lib, to, at),
  };
}

function firstTier(lib: Library, to: Listed, at: number): number {
  const listed = lookUp(lib, to, {}, at);
  const starts = Object.values(listed?.model_price ?? {}).flatMap((price) =>
    typeof price === "object" ? price.tiers.map((tier) => tier.start) : [],
  );
  return Math.min(Number.MAX_SAFE_INTEGER, ...starts);
}

function listPrice(lib: Library, to: Listed, counts: TokenCounts, at: number): number | undefined {
  const { input, read, written, output } = counts;
  const usage = {
    input_tokens: input,
    cache_read_tokens: read,
    cache_write_tokens: written,
    output_tokens: output,
  };
  return lookUp(lib, to, usage, at)?.total_price;
}

function lookUp(lib: Library, { provider, model }: Listed, usage: Counts, at: number) {
  try {
    return (
      lib.calcPrice(usage, model, { providerId: provider, timestamp: new Date(at) }) ?? undefined
    );
  } catch {
    // A provider or a kind of usage that the list does not know.
    return undefined;
  }
}

function ownPrice(own: OwnPrices, { channel, model }: Priced): Price | undefined {
  for (const pattern in own)
    if (fitsPattern(pattern, model) || fitsPattern(pattern, `${channel}/${model}`))
      return own[pattern];
  return undefined;
}

function byOwnPrice(price: Price, { input, read, written, output }: TokenCounts): number {
  const { cachedInput = price.input, cacheWrite = price.input } = price;
  return (
    ((input - read - written) * price.input +
      read * cachedInput +
      written * cacheWrite +
      output * price.output) /
    1e6
  );
}

/** The list of prices: 2 MB that are read when the first price is asked for. */
export function loadList(): Promise<Library> {
  return import("@pydantic/genai-prices");
}
