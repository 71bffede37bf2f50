/**
 * Counts requests in memory and writes sums and single requests from time to time: no response waits for the store, but
 * where a budget is shared with others, who must see what it has cost as soon as the response has ended.
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
  type Priced,
  roundUsd,
} from "./prices.ts";
import { emptyRequests, RequestLog, type UnwrittenRequests } from "./requests/log.ts";
import type { OwnPrices } from "./schema.ts";

const MINUTE = 60_000;
/** So many uncounted requests are counted at once. */
const MOST_PENDING = 2000;
/** So many sums wait for a store that fails, about a day of a busy gateway. */
const MOST_SUMS = 50_000;
/** The store may be written by hand: what was spent is read again this often. */
const SPENT_FRESH_MS = 5_000;
/** Older sums than this change no more, but for what a store that failed for so long takes late. */
const SETTLED_MS = 86_400_000;
const SETTLED_FRESH_MS = 60_000;
const LONGEST_NAME = 200;
const LONGEST_PRINCIPAL = 100;
const LONGEST_REQUEST_MS = 86_400_000;
const MOST_FACTS = 2000;

export interface LedgerServices {
  store: () => Store;
  log: Logger;
  prices: OwnPrices;
  /** How many single requests stay in the store. */
  keepRequests: number;
}

interface Pending {
  record: ChatRecord;
  at: number;
}
/** What requests of one minute, key, channel, model and tag add up to. */
type Sum = Required<Omit<UsageRecord, "tag" | keyof Times>> & Pick<UsageRecord, "tag"> & Times;

/** How many requests took how long, in the buckets of the store. */
interface Times {
  durations: number[];
  firstBytes: number[];
}

/** Whose costs are asked for: one of the two. */
interface Spender {
  key?: string;
  channel?: string;
}
interface Spent {
  since: number;
  usd: number;
  readAt: number;
  /** Of them, those before `until`: a month's are too many to be summed for each request. */
  settled: { until: number; usd: number; readAt: number };
}

/**
 * What is counted and not written yet: plain data, which a reload of the plugin passes on, so that the new version
 * continues with it.
 */
export interface Unwritten {
  /** Requests that wait for the list of prices. */
  pending: Pending[];
  sums: Map<string, Sum>;
  /** The sum that was changed last, which is most often the next one, too. */
  lastSum: Sum | undefined;
  requests: UnwrittenRequests;
  spent: Map<string, Spent>;
  /** Settles when the last write or reading of sums has ended: they run one after another. */
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
  /** Readings of them that have not begun: they are of use to all who ask by then. */
  #reading = new Map<string, Promise<number>>();
  #costOf: CostOf;
  #library: Library | undefined;
  /** By channel, provider and model: looking one up takes the library some time. */
  readonly #facts = new Map<string, ModelFacts>();
  #list: Promise<void> | undefined;
  /** The list of prices is there, or it is known that it cannot be read. */
  #listed = false;
  #writing: Promise<void> | undefined;

  constructor(services: LedgerServices, unwritten = emptyLedger()) {
    this.#services = services;
    this.#unwritten = unwritten;
    this.#requests = new RequestLog(services.log, unwritten.requests);
    this.#costOf = createPrices(services.prices, undefined);
  }

  /** A promise where somebody else counts with us in the same budget: it has what this has cost then. */
  add(record: ChatRecord): Promise<void> | undefined {
    if (record.channel === "") return undefined;
    const at = this.#services.store().now();
    // What must not wait is summed at once: records that are kept would be moved about by the garbage collector.
    if (this.#listed || !this.#wantsList(record))
      return this.#sum(record, at) ? this.#publish() : undefined;
    if (this.#unwritten.pending.push({ record, at }) === MOST_PENDING)
      setImmediate(() => this.flush());
    return this.#spendersOf(record.channel, keyOf(record.client)).length > 0
      ? this.#publish()
      : undefined;
  }

  /** Counts and writes the waiting entries. Entries that cannot be written wait on, and the log names that once. */
  flush(): Promise<void> {
    this.#writing ??= this.#inTurn(async () => {
      this.#writing = undefined;
      await this.#count();
      await this.#write();
    });
    return this.#writing;
  }

  /** What a client key, or a channel, has cost, in US dollars. Rejects where the store cannot be read. */
  async spent(of: Spender, since: number): Promise<number> {
    await this.#count();
    const id = spenderId(of);
    const known = this.#unwritten.spent.get(id);
    const now = this.#services.store().now();
    const isFresh = known?.since === since && now - known.readAt < SPENT_FRESH_MS;
    if (isFresh && !this.#isShared) return roundUsd(known.usd);
    const question = `${since} ${id}`;
    const reading =
      this.#reading.get(question) ?? this.#inTurn(() => this.#read(question, of, since));
    this.#reading.set(question, reading);
    return reading;
  }

  async #read(question: string, of: Spender, since: number): Promise<number> {
    this.#reading.delete(question);
    const now = this.#services.store().now();
    const until = Math.max(since, now - (now % SETTLED_MS) - SETTLED_MS);
    const known = this.#unwritten.spent.get(spenderId(of));
    let settled = known?.since === since ? known.settled : undefined;
    if (settled?.until !== until || now - settled.readAt >= SETTLED_FRESH_MS)
      settled = {
        until,
        usd: until > since ? await this.#sumIn({ ...of, since, until }) : 0,
        readAt: now,
      };
    let usd = settled.usd + (await this.#sumIn({ ...of, since: until }));
    // Nothing is being written now: what is not in the store is in the sums.
    for (const sum of this.#unwritten.sums.values())
      if (
        sum.tag === undefined &&
        sum.at >= since &&
        (of.key === undefined || sum.key === of.key) &&
        (of.channel === undefined || sum.channel === of.channel)
      )
        usd += sum.cost;
    this.#unwritten.spent.set(spenderId(of), { since, usd, readAt: now, settled });
    return roundUsd(usd);
  }

  async #sumIn(filter: UsageFilter): Promise<number> {
    const [row] = await this.#services.store().usage.sum(filter);
    return row?.cost ?? 0;
  }

  async hasPrice(to: Priced): Promise<boolean> {
    return (await this.costOf(to, ONE_TOKEN)) !== undefined;
  }

  /** A promise only where the list of prices must be read first. */
  costOf(to: Priced, usage: Usage): MaybePromise<number | undefined> {
    const cost = () => this.#costOf(to, usage, this.#services.store().now());
    return this.#listed || !needsList(this.#services.prices, to) ? cost() : this.#load().then(cost);
  }

  /** The known properties of a channel's model. */
  async facts(to: Priced): Promise<ModelFacts> {
    await this.#load();
    const id = `${to.channel}/${to.provider}/${to.model}`;
    const known = this.#facts.get(id);
    if (known !== undefined) return known;
    if (this.#facts.size >= MOST_FACTS) this.#facts.clear();
    const now = this.#services.store().now();
    const facts = factsOf(this.#services.prices, this.#library, to, now);
    this.#facts.set(id, facts);
    return facts;
  }

  #inTurn<T>(job: () => Promise<T>): Promise<T> {
    const next = this.#unwritten.turn.then(job, job);
    this.#unwritten.turn = next.catch(() => {});
    return next;
  }

  async #count(): Promise<void> {
    if (this.#list !== undefined || this.#unwritten.pending.length > 0) await this.#load();
    const pending = this.#unwritten.pending;
    this.#unwritten.pending = [];
    for (const { record, at } of pending) this.#sum(record, at);
  }

  async #load(): Promise<void> {
    this.#list ??= loadList().then(
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
    await this.#list;
    this.#listed = true;
  }

  #wantsList({ usage, composite, ...to }: ChatRecord): boolean {
    return usage !== undefined && !composite && needsList(this.#services.prices, to);
  }

  /** True if a holder of a budget has paid for it. */
  #sum(record: ChatRecord, at: number): boolean {
    const { usage } = record;
    const key = keyOf(record.client);
    const cost = usage === undefined ? 0 : this.#costOf(record, usage, at);
    if (this.#services.keepRequests > 0 && this.#requests.add(record, { at, key, cost }))
      setImmediate(() => this.flush());
    const minute = at - (at % MINUTE);
    const where = {
      at: minute,
      key,
      channel: record.channel.slice(0, LONGEST_NAME),
      model: record.model.slice(0, LONGEST_NAME),
      alias: (record.story?.model ?? "").slice(0, LONGEST_NAME),
      principal: (record.story?.principal ?? "").slice(0, LONGEST_PRINCIPAL),
    };
    const sum = this.#sumOf(where);
    if (sum === undefined) return false;
    const amounts = amountsOf(record, cost);
    addRequest(sum, amounts, record);
    for (const tag of record.tags ?? NO_TAGS) {
      const tagged = this.#sumOf({ ...where, tag });
      if (tagged !== undefined) addRequest(tagged, amounts, record);
    }
    if (!cost) return false;
    const spenders = this.#spendersOf(sum.channel, key);
    for (const spent of spenders) if (minute >= spent.since) spent.usd += cost;
    return spenders.length > 0;
  }

  /** Those of a request for whose costs somebody has asked: they have budgets. */
  #spendersOf(channel: string, key: string): readonly Spent[] {
    if (this.#unwritten.spent.size === 0) return NOBODY;
    const spenders = [
      this.#unwritten.spent.get(spenderId({ channel })),
      key === "" ? undefined : this.#unwritten.spent.get(spenderId({ key })),
    ];
    return spenders.filter((spent) => spent !== undefined);
  }

  /** Writes at once: another gateway that asks for this budget must see it, and so has the next start after a crash. */
  #publish(): Promise<void> | undefined {
    if (this.#isShared) return this.flush();
    setImmediate(() => this.flush());
    return undefined;
  }

  get #isShared(): boolean {
    return this.#services.store().sharedBy !== "nobody";
  }

  /** Undefined where there is no room for another one. */
  #sumOf(where: Where): Sum | undefined {
    const last = this.#unwritten.lastSum;
    if (last !== undefined && isSame(last, where)) return last;
    const { at, key, channel, model, alias, principal, tag } = where;
    const id = JSON.stringify([at, key, channel, model, alias, principal, tag]);
    const known = this.#unwritten.sums.get(id);
    if (known === undefined && this.#unwritten.sums.size >= MOST_SUMS) {
      if (this.#unwritten.lostSums === 0)
        this.#services.log.error(
          "usage data were lost, because the store has not accepted any for too long",
        );
      this.#unwritten.lostSums++;
      return undefined;
    }
    const sum: Sum = known ?? {
      ...{ at, key, channel, model, alias, principal, tag },
      ...NOTHING,
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
          "usage data cannot be written; they are kept, and the write is tried again",
        );
      this.#unwritten.isFailing = true;
    }
  }
}

const NOBODY: readonly Spent[] = [];
const ONE_TOKEN: Usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

const ADDED = [
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

type AddedAmounts = Readonly<Record<(typeof ADDED)[number], number>>;
type Where = Pick<Sum, "at" | "key" | "channel" | "model" | "alias" | "principal" | "tag">;

const NOTHING = Object.freeze(Object.fromEntries(ADDED.map((field) => [field, 0]))) as AddedAmounts;
const NO_TAGS: readonly string[] = [];

function isSame(a: Where, b: Where): boolean {
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
  for (const field of ADDED) sum[field] += amounts[field];
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

/** `cost` is undefined where the price is not known. */
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

/** Sums are whole numbers in the store, so one absurd time must not break them. */
function wholeMs(ms: number): number {
  return Number.isFinite(ms) ? Math.min(Math.max(0, Math.round(ms)), LONGEST_REQUEST_MS) : 0;
}

function spenderId({ key, channel }: Spender): string {
  return key === undefined ? `channel ${channel}` : `key ${key}`;
}

function keyOf(client: Client): string {
  return client.kind === "key" ? (client.key ?? "") : "";
}
