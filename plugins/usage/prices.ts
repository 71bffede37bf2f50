/** Computes the cost of tokens with a list of prices from a package, so that nothing is fetched. */
import { fitsPattern } from "portico/strings";
import type { ModelFacts } from "portico/models";
import type { Usage } from "portico/provider";
import type { OwnPrices, Price } from "./schema.ts";

export type Library = typeof import("@pydantic/genai-prices");
type Counts = Record<string, number>;

/** A model of a channel, whose price is looked up. */
export interface PricedModel {
  channel: string;
  provider: string;
  model: string;
}
type ListedModel = Pick<PricedModel, "provider" | "model">;
/** Returns US dollars; undefined if no price is known. */
export type CostOf = (target: PricedModel, usage: Usage, at: number) => number | undefined;

/** Providers that run on the user's machines or in this gateway: their responses cost nothing. */
const FREE = new Set(["echo", "agent", "ollama", "vllm", "lmstudio", "llamacpp"]);
/** Rates are looked up again after this time, since some prices depend on the time of day. */
const FRESH_MS = 10 * 60_000;
const MAX_RATES = 1000;
/** The number of tokens whose price determines a rate. */
const PROBE = 1000;

/** US dollars per token. */
interface Rates {
  request: number;
  input: number;
  cacheRead: number;
  cacheWrite: number;
  output: number;
  /** The longest prompt to which these rates apply. */
  upTo: number;
}

interface CachedRates {
  provider: string;
  model: string;
  /** Undefined if the list has no price. */
  rates: Rates | undefined;
  validUntil: number;
}

/** Returns true if neither the configuration nor `FREE` gives a price, so that the list must be loaded. */
export function needsList(ownPrices: OwnPrices, target: PricedModel): boolean {
  return !FREE.has(target.provider) && findOwnPrice(ownPrices, target) === undefined;
}

/** Creates the cost function. `library` is undefined until the list is needed. */
export function createPrices(ownPrices: OwnPrices, library: Library | undefined): CostOf {
  // Rates are cached, since the library takes a quarter of a millisecond for one price.
  const ratesByModel = new Map<string, CachedRates>();
  /** The entry of the last request, which is most often the next one, too. */
  let last: CachedRates | undefined;

  function ratesOf(lib: Library, target: PricedModel, at: number): Rates | undefined {
    if (
      last === undefined ||
      last.model !== target.model ||
      last.provider !== target.provider ||
      last.validUntil <= at
    )
      last = findRates(lib, target, at);
    return last.rates;
  }

  function findRates(lib: Library, { provider, model }: ListedModel, at: number): CachedRates {
    const key = `${provider}/${model}`;
    const cached = ratesByModel.get(key);
    if (cached !== undefined && cached.validUntil > at) return cached;
    if (ratesByModel.size >= MAX_RATES) ratesByModel.clear();
    const rates = readRates(lib, { provider, model }, at);
    const entry = {
      provider,
      model,
      rates,
      validUntil: rates === undefined ? Number.POSITIVE_INFINITY : at + FRESH_MS,
    };
    ratesByModel.set(key, entry);
    return entry;
  }

  return (target, usage, at) => {
    const counts = countsOf(usage);
    const price = findOwnPrice(ownPrices, target);
    if (price !== undefined) return costByOwnPrice(price, counts);
    if (FREE.has(target.provider)) return 0;
    if (library === undefined) return undefined;
    const rates = ratesOf(library, target, at);
    if (rates === undefined) return undefined;
    const { input, cacheRead, cacheWrite, output } = counts;
    if (input > rates.upTo) return listPrice(library, target, counts, at);
    return (
      rates.request +
      (input - cacheRead - cacheWrite) * rates.input +
      cacheRead * rates.cacheRead +
      cacheWrite * rates.cacheWrite +
      output * rates.output
    );
  };
}

/** Returns the context window and the price of a model, as far as known. `library` is undefined if it cannot be read. */
export function factsOf(
  ownPrices: OwnPrices,
  library: Library | undefined,
  target: PricedModel,
  at: number,
): ModelFacts {
  const calculation = library && calculate(library, target, { input_tokens: 1 }, at);
  const contextWindow = calculation?.model.context_window;
  const price = findOwnPrice(ownPrices, target);
  if (price !== undefined) return { contextWindow, price };
  if (FREE.has(target.provider)) return { contextWindow, price: { input: 0, output: 0 } };
  const rates = library && readRates(library, target, at);
  if (rates === undefined) return { contextWindow };
  const perMillion = (rate: number) => roundUsd(rate * 1e6);
  const { input, output, cacheRead } = rates;
  return {
    contextWindow,
    price: {
      input: perMillion(input),
      output: perMillion(output),
      cachedInput: perMillion(cacheRead),
    },
  };
}

interface TokenCounts {
  /** All tokens of the prompt, including those of the cache. */
  input: number;
  /** Tokens that were read from the provider's cache. */
  cacheRead: number;
  /** Tokens that were written to the provider's cache. */
  cacheWrite: number;
  output: number;
}

function countsOf(usage: Usage): TokenCounts {
  const details = usage.prompt_tokens_details ?? {};
  const cacheRead = count(details.cached_tokens);
  const cacheWrite = count(details.cache_write_tokens);
  return {
    input: Math.max(count(usage.prompt_tokens), cacheRead + cacheWrite),
    cacheRead,
    cacheWrite,
    output: count(usage.completion_tokens),
  };
}

/** Rounds to a billionth of a dollar, which removes the errors of floating-point addition. */
export function roundUsd(usd: number): number {
  return Math.round(usd * 1e9) / 1e9;
}

/** Returns a number of tokens as a whole number; 0 for any other value that an upstream may have sent. */
export function count(value: unknown): number {
  return typeof value === "number" && value > 0 && Number.isFinite(value) ? Math.round(value) : 0;
}

function readRates(lib: Library, target: ListedModel, at: number): Rates | undefined {
  const noTokens = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 };
  const request = listPrice(lib, target, noTokens, at);
  if (request === undefined) return undefined;
  const rateOf = (counts: Partial<TokenCounts>) =>
    ((listPrice(lib, target, { ...noTokens, ...counts }, at) ?? request) - request) / PROBE;
  return {
    request,
    input: rateOf({ input: PROBE }),
    cacheRead: rateOf({ input: PROBE, cacheRead: PROBE }),
    cacheWrite: rateOf({ input: PROBE, cacheWrite: PROBE }),
    output: rateOf({ output: PROBE }),
    upTo: firstTier(lib, target, at),
  };
}

function firstTier(lib: Library, target: ListedModel, at: number): number {
  const calculation = calculate(lib, target, {}, at);
  const starts = Object.values(calculation?.model_price ?? {}).flatMap((price) =>
    typeof price === "object" ? price.tiers.map((tier) => tier.start) : [],
  );
  return Math.min(Number.MAX_SAFE_INTEGER, ...starts);
}

function listPrice(
  lib: Library,
  target: ListedModel,
  counts: TokenCounts,
  at: number,
): number | undefined {
  const { input, cacheRead, cacheWrite, output } = counts;
  const usage = {
    input_tokens: input,
    cache_read_tokens: cacheRead,
    cache_write_tokens: cacheWrite,
    output_tokens: output,
  };
  return calculate(lib, target, usage, at)?.total_price;
}

function calculate(lib: Library, { provider, model }: ListedModel, usage: Counts, at: number) {
  try {
    return (
      lib.calcPrice(usage, model, { providerId: provider, timestamp: new Date(at) }) ?? undefined
    );
  } catch {
    // The list does not know the provider, or this kind of usage.
    return undefined;
  }
}

function findOwnPrice(ownPrices: OwnPrices, { channel, model }: PricedModel): Price | undefined {
  for (const pattern in ownPrices)
    if (fitsPattern(pattern, model) || fitsPattern(pattern, `${channel}/${model}`))
      return ownPrices[pattern];
  return undefined;
}

function costByOwnPrice(price: Price, counts: TokenCounts): number {
  const { input, cacheRead, cacheWrite, output } = counts;
  return (
    ((input - cacheRead - cacheWrite) * price.input +
      cacheRead * (price.cachedInput ?? price.input) +
      cacheWrite * (price.cacheWrite ?? price.input) +
      output * price.output) /
    1e6
  );
}

/** Loads the list of prices: 2 MB, which are read only when a price is needed. */
export function loadList(): Promise<Library> {
  return import("@pydantic/genai-prices");
}
