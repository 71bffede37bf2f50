/**
 * Counts requests in memory, and writes sums and single requests periodically. No response waits for the store, unless
 * processes share a budget: then the others must see the cost as soon as the response has ended.
 */
import type { Client, Logger } from "portico";
import type { ChatRecord, MaybePromise, ModelFacts } from "portico/models";
import type { Usage } from "portico/provider";
import {
  addTimes,
  emptyTimes,
  type Store,
  timeBucket,
  type UsageFilter,
  type UsageRecord,
} from "portico/store";
import {
  type CostOf,
  count,
  createPrices,
  factsOf,
  type Library,
  loadList,
  needsList,
  type PricedModel,
  roundUsd,
} from "./prices.ts";
import { emptyRequests, RequestLog, type UnwrittenRequests } from "./requests/log.ts";
import type { OwnPrices } from "./schema.ts";

const MINUTE = 60_000;
/** The number of pending requests that triggers a flush. */
const MAX_PENDING = 2000;
/** The number of sums that wait while the store fails: about a day of a busy gateway. */
const MAX_SUMS = 50_000;
/** The cached cost of a spender is read again after this time, since somebody may edit the store. */
const SPENT_FRESH_MS = 5_000;
/** Sums older than this no longer change, unless a store fails for so long and then accepts them late. */
const SETTLED_MS = 86_400_000;
const SETTLED_FRESH_MS = 60_000;
const LONGEST_NAME = 200;
const LONGEST_PRINCIPAL = 100;
const LONGEST_REQUEST_MS = 86_400_000;
const MAX_FACTS = 2000;

export interface LedgerServices {
  store: () => Store;
  log: Logger;
  prices: OwnPrices;
  /** The number of single requests that the store keeps. */
  keepRequests: number;
}

interface Pending {
  record: ChatRecord;
  at: number;
}
/** The sum of the requests of one minute with the same key, channel, model, alias, principal and tag. */
type Sum = Required<Omit<UsageRecord, "tag" | keyof Times>> & Pick<UsageRecord, "tag"> & Times;

/** The numbers of requests by duration, in the buckets of the store. */
interface Times {
  durations: number[];
  firstBytes: number[];
}

/** The key or the channel whose cost is read; exactly one of them is set. */
interface Spender {
  key?: string;
  channel?: string;
}
interface SpentEntry {
  since: number;
  usd: number;
  readAt: number;
  /** The part before `until`, which is cached longer: a month has too many sums to add for each request. */
  settled: { until: number; usd: number; readAt: number };
}

/** The counts that are not written yet: plain data, with which the new version continues after a reload of the plugin. */
export interface Unwritten {
  /** Requests that wait for the list of prices. */
  pending: Pending[];
  sums: Map<string, Sum>;
  /** The sum that was changed last, which is most often the next one, too. */
  lastSum: Sum | undefined;
  requests: UnwrittenRequests;
  spent: Map<string, SpentEntry>;
  /** Settles after the last write or reading of sums, which run one after another. */
  turn: Promise<unknown>;
  isFailing: boolean;
  lostSums: number;
}

export function emptyLedger(): Unwritten {
  return {
    pending: [],
    sums: new Map(),
    lastSum: undefined,
    requests: emptyRequests(),
    spent: new Map(),
    turn: Promise.resolve(),
    isFailing: false,
    lostSums: 0,
  };
}

export class Ledger {
  readonly #services: LedgerServices;
  readonly #unwritten: Unwritten;
  readonly #requests: RequestLog;
  /** Readings of costs that have not begun yet: all callers until then share them. */
  #queuedReadings = new Map<string, Promise<number>>();
  #costOf: CostOf;
  #library: Library | undefined;
  /** Facts by channel, provider and model, cached since the library needs some time for each. */
  readonly #facts = new Map<string, ModelFacts>();
  #loadingPrices: Promise<void> | undefined;
  /** True once the list of prices is loaded or has failed to load. */
  #isListLoaded = false;
  #writing: Promise<void> | undefined;

  constructor(services: LedgerServices, unwritten = emptyLedger()) {
    this.#services = services;
    this.#unwritten = unwritten;
    this.#requests = new RequestLog(services.log, unwritten.requests);
    this.#costOf = createPrices(services.prices, undefined);
  }

  /** Counts a request. Returns a promise if other processes share its budget: it settles once they can see the cost. */
  add(record: ChatRecord): Promise<void> | undefined {
    if (record.channel === "") return undefined;
    const at = this.#services.store().now();
    // A record that need not wait for prices is summed at once: stored records would burden the garbage collector.
    if (this.#isListLoaded || !this.#needsList(record))
      return this.#addToSums(record, at) ? this.#publish() : undefined;
    if (this.#unwritten.pending.push({ record, at }) === MAX_PENDING)
      setImmediate(() => this.flush());
    return this.#spendersOf(record.channel, keyOf(record.client)).length > 0
      ? this.#publish()
      : undefined;
  }

  /** Counts and writes the waiting entries. Those that cannot be written keep waiting, and the log reports that once. */
  flush(): Promise<void> {
    this.#writing ??= this.#enqueue(async () => {
      this.#writing = undefined;
      await this.#countPending();
      await this.#write();
    });
    return this.#writing;
  }

  /** Returns the cost of a client key or a channel since a time, in US dollars. Rejects if the store cannot be read. */
  async spent(spender: Spender, since: number): Promise<number> {
    await this.#countPending();
    const id = spenderId(spender);
    const entry = this.#unwritten.spent.get(id);
    const now = this.#services.store().now();
    const isFresh = entry?.since === since && now - entry.readAt < SPENT_FRESH_MS;
    if (isFresh && !this.#isShared) return roundUsd(entry.usd);
    const key = `${since} ${id}`;
    const reading =
      this.#queuedReadings.get(key) ?? this.#enqueue(() => this.#readSpent(key, spender, since));
    this.#queuedReadings.set(key, reading);
    return reading;
  }

  async #readSpent(key: string, spender: Spender, since: number): Promise<number> {
    this.#queuedReadings.delete(key);
    const now = this.#services.store().now();
    const until = Math.max(since, now - (now % SETTLED_MS) - SETTLED_MS);
    const entry = this.#unwritten.spent.get(spenderId(spender));
    let settled = entry?.since === since ? entry.settled : undefined;
    if (settled?.until !== until || now - settled.readAt >= SETTLED_FRESH_MS)
      settled = {
        until,
        usd: until > since ? await this.#readCost({ ...spender, since, until }) : 0,
        readAt: now,
      };
    let usd = settled.usd + (await this.#readCost({ ...spender, since: until }));
    // No write runs now, so every cost is either in the store or in the unwritten sums.
    for (const sum of this.#unwritten.sums.values())
      if (
        sum.tag === undefined &&
        sum.at >= since &&
        (spender.key === undefined || sum.key === spender.key) &&
        (spender.channel === undefined || sum.channel === spender.channel)
      )
        usd += sum.cost;
    this.#unwritten.spent.set(spenderId(spender), { since, usd, readAt: now, settled });
    return roundUsd(usd);
  }

  async #readCost(filter: UsageFilter): Promise<number> {
    const [row] = await this.#services.store().usage.sum(filter);
    return row?.cost ?? 0;
  }

  async hasPrice(target: PricedModel): Promise<boolean> {
    return (await this.costOf(target, ONE_TOKEN)) !== undefined;
  }

  /** Returns the cost in US dollars, or a promise of it if the list of prices must be loaded first. */
  costOf(target: PricedModel, usage: Usage): MaybePromise<number | undefined> {
    const cost = () => this.#costOf(target, usage, this.#services.store().now());
    return this.#isListLoaded || !needsList(this.#services.prices, target)
      ? cost()
      : this.#loadPrices().then(cost);
  }

  /** The known properties of a channel's model. */
  async facts(target: PricedModel): Promise<ModelFacts> {
    await this.#loadPrices();
    const id = `${target.channel}/${target.provider}/${target.model}`;
    const cached = this.#facts.get(id);
    if (cached !== undefined) return cached;
    if (this.#facts.size >= MAX_FACTS) this.#facts.clear();
    const now = this.#services.store().now();
    const facts = factsOf(this.#services.prices, this.#library, target, now);
    this.#facts.set(id, facts);
    return facts;
  }

  /** Runs a job after all earlier ones have ended. */
  #enqueue<T>(job: () => Promise<T>): Promise<T> {
    const next = this.#unwritten.turn.then(job, job);
    this.#unwritten.turn = next.catch(() => {});
    return next;
  }

  async #countPending(): Promise<void> {
    if (this.#loadingPrices !== undefined || this.#unwritten.pending.length > 0)
      await this.#loadPrices();
    const pending = this.#unwritten.pending;
    this.#unwritten.pending = [];
    for (const { record, at } of pending) this.#addToSums(record, at);
  }

  async #loadPrices(): Promise<void> {
    this.#loadingPrices ??= loadList().then(
      (library) => {
        this.#library = library;
        this.#costOf = createPrices(this.#services.prices, library);
      },
      (error: unknown) =>
        this.#services.log.error(
          { err: error },
          "the list of prices cannot be read, so costs are unknown",
        ),
    );
    await this.#loadingPrices;
    this.#isListLoaded = true;
  }

  #needsList({ usage, composite, ...target }: ChatRecord): boolean {
    return usage !== undefined && !composite && needsList(this.#services.prices, target);
  }

  /** Adds a request to its sums. Returns true if its cost counts against a budget. */
  #addToSums(record: ChatRecord, at: number): boolean {
    const { usage } = record;
    const key = keyOf(record.client);
    const cost = usage === undefined ? 0 : this.#costOf(record, usage, at);
    if (this.#services.keepRequests > 0 && this.#requests.add(record, { at, key, cost }))
      setImmediate(() => this.flush());
    const minute = at - (at % MINUTE);
    const sumKey = {
      at: minute,
      key,
      channel: record.channel.slice(0, LONGEST_NAME),
      model: record.model.slice(0, LONGEST_NAME),
      alias: (record.story?.model ?? "").slice(0, LONGEST_NAME),
      principal: (record.story?.principal ?? "").slice(0, LONGEST_PRINCIPAL),
    };
    const sum = this.#sumOf(sumKey);
    if (sum === undefined) return false;
    const amounts = amountsOf(record, cost);
    addRequest(sum, amounts, record);
    for (const tag of record.tags ?? NO_TAGS) {
      const tagged = this.#sumOf({ ...sumKey, tag });
      if (tagged !== undefined) addRequest(tagged, amounts, record);
    }
    if (!cost) return false;
    const spenders = this.#spendersOf(sum.channel, key);
    for (const spent of spenders) if (minute >= spent.since) spent.usd += cost;
    return spenders.length > 0;
  }

  /** Returns the cached costs of the channel and the key: only spenders with a budget have an entry. */
  #spendersOf(channel: string, key: string): readonly SpentEntry[] {
    if (this.#unwritten.spent.size === 0) return NO_SPENDERS;
    const spenders = [
      this.#unwritten.spent.get(spenderId({ channel })),
      key === "" ? undefined : this.#unwritten.spent.get(spenderId({ key })),
    ];
    return spenders.filter((spent) => spent !== undefined);
  }

  /** Writes soon, so that a start after a crash knows the cost. Returns the write if other processes must see it. */
  #publish(): Promise<void> | undefined {
    if (this.#isShared) return this.flush();
    setImmediate(() => this.flush());
    return undefined;
  }

  get #isShared(): boolean {
    return this.#services.store().sharedBy !== "nobody";
  }

  /** Finds or creates a sum. Returns undefined if there is no room for another one. */
  #sumOf(sumKey: SumKey): Sum | undefined {
    const last = this.#unwritten.lastSum;
    if (last !== undefined && hasSameKey(last, sumKey)) return last;
    const { at, key, channel, model, alias, principal, tag } = sumKey;
    const id = JSON.stringify([at, key, channel, model, alias, principal, tag]);
    const existing = this.#unwritten.sums.get(id);
    if (existing === undefined && this.#unwritten.sums.size >= MAX_SUMS) {
      if (this.#unwritten.lostSums === 0)
        this.#services.log.error(
          "usage data were lost, because the store had refused them for too long",
        );
      this.#unwritten.lostSums++;
      return undefined;
    }
    const sum: Sum = existing ?? {
      ...{ at, key, channel, model, alias, principal, tag },
      ...ZERO_AMOUNTS,
      durations: emptyTimes(),
      firstBytes: emptyTimes(),
    };
    this.#unwritten.sums.set(id, sum);
    this.#unwritten.lastSum = sum;
    return sum;
  }

  async #write(): Promise<void> {
    const blocks = this.#requests.take();
    if (this.#unwritten.sums.size === 0 && blocks.length === 0) return;
    const batch = this.#unwritten.sums;
    this.#unwritten.sums = new Map();
    this.#unwritten.lastSum = undefined;
    try {
      await this.#services
        .store()
        .usage.append([...batch.values()], { blocks, keep: this.#services.keepRequests });
      if (this.#unwritten.isFailing)
        this.#services.log.info(
          { lost: this.#unwritten.lostSums, lostRequests: this.#requests.lost },
          "usage data can be written again",
        );
      this.#unwritten.isFailing = false;
      this.#unwritten.lostSums = 0;
      this.#requests.recovered();
    } catch (error) {
      const newer = this.#unwritten.sums;
      this.#unwritten.sums = batch;
      this.#unwritten.lastSum = undefined;
      for (const record of newer.values()) {
        const sum = this.#sumOf(record);
        if (sum !== undefined) addSum(sum, record);
      }
      this.#requests.putBack(blocks);
      if (!this.#unwritten.isFailing)
        this.#services.log.error(
          { err: error },
          "usage data cannot be written to the store; the gateway keeps them in memory and tries again",
        );
      this.#unwritten.isFailing = true;
    }
  }
}

const NO_SPENDERS: readonly SpentEntry[] = [];
const ONE_TOKEN: Usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

const AMOUNTS = [
  "requests",
  "errors",
  "promptTokens",
  "completionTokens",
  "cachedTokens",
  "cost",
  "unmetered",
  "unpriced",
  "estimated",
  "durationMs",
] as const;

type AddedAmounts = Readonly<Record<(typeof AMOUNTS)[number], number>>;
type SumKey = Pick<Sum, "at" | "key" | "channel" | "model" | "alias" | "principal" | "tag">;

const ZERO_AMOUNTS = Object.freeze(
  Object.fromEntries(AMOUNTS.map((field) => [field, 0])),
) as AddedAmounts;
const NO_TAGS: readonly string[] = [];

function hasSameKey(a: SumKey, b: SumKey): boolean {
  return (
    a.at === b.at &&
    a.key === b.key &&
    a.channel === b.channel &&
    a.model === b.model &&
    a.alias === b.alias &&
    a.principal === b.principal &&
    a.tag === b.tag
  );
}

function addAmounts(sum: Sum, amounts: AddedAmounts): void {
  for (const field of AMOUNTS) sum[field] += amounts[field];
}

function addRequest(sum: Sum, amounts: AddedAmounts, { ms, firstByteMs }: ChatRecord): void {
  addAmounts(sum, amounts);
  countTime(sum.durations, ms);
  if (firstByteMs !== undefined) countTime(sum.firstBytes, firstByteMs);
}

function countTime(times: number[], ms: number): void {
  const bucket = timeBucket(wholeMs(ms));
  times[bucket] = (times[bucket] ?? 0) + 1;
}

function addSum(sum: Sum, other: Sum): void {
  addAmounts(sum, other);
  addTimes(sum.durations, other.durations);
  addTimes(sum.firstBytes, other.firstBytes);
}

/** Returns the amounts of one request. `cost` is undefined if the price is unknown. */
function amountsOf(record: ChatRecord, cost: number | undefined): AddedAmounts {
  const { usage, status, composite, cached } = record;
  const isAnswered = status < 400 || status === 499;
  const isEstimated = usage?.estimated === true;
  // After the client disconnected, the upstream need not report its usage.
  const isMetered = usage !== undefined && (!isEstimated || status === 499);
  return {
    requests: 1,
    errors: isAnswered ? 0 : 1,
    promptTokens: count(usage?.prompt_tokens),
    completionTokens: count(usage?.completion_tokens),
    cachedTokens: count(usage?.prompt_tokens_details?.cached_tokens),
    cost: cost ?? 0,
    unmetered: isMetered || !isAnswered || composite || cached === true ? 0 : 1,
    unpriced: cost === undefined ? 1 : 0,
    estimated: isEstimated ? 1 : 0,
    durationMs: wholeMs(record.ms),
  };
}

/** Rounds and limits a duration: sums are integers in the store, which one absurd value must not break. */
function wholeMs(ms: number): number {
  return Number.isFinite(ms) ? Math.min(Math.max(0, Math.round(ms)), LONGEST_REQUEST_MS) : 0;
}

function spenderId({ key, channel }: Spender): string {
  return key === undefined ? `channel ${channel}` : `key ${key}`;
}

function keyOf(client: Client): string {
  return client.kind === "key" ? (client.key ?? "") : "";
}
