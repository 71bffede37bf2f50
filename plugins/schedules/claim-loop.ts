/** Claims work from the store as it comes due, renews its leases, and drains in order. */
import { endOrLate, type Logger } from "portico";
import type { Claim, Shares, Store, WorkItem } from "portico/store";
import { createRounds, type Rounds } from "./rounds.ts";
import { isDead, newWorker } from "./worker-name.ts";

/** The longest pause between two queries of the queue, because another gateway may have added work. */
const LONGEST_SLEEP_MS = 5000;
const LONGEST_SLEEP_ALONE_MS = 30_000;
const SHORTEST_SLEEP_MS = 5;
const RETRY_MS = 1000;
/** The pause between two searches for leases of processes that have died on this machine. */
const DEAD_CHECK_MS = 1000;

/** The reason of the signal with which running work is aborted. */
export class Stopped extends Error {
  /** `lost`: another worker has taken over the work, so this one must not write any results. */
  readonly why: "cancelled" | "lost" | "shutdown";
  constructor(why: Stopped["why"]) {
    super(why);
    this.why = why;
  }
}

export interface ClaimLoopOptions<B> {
  store(): Store;
  log: Logger;
  /** The kinds of items to claim. */
  kinds: readonly string[];
  leaseMs: number;
  /** Returns the largest number of lanes in progress at the same time. */
  most(): number;
  /** Returns the limits for each holder and for all holders together; undefined: first come, first served. */
  shares?(): { each: number; together: number } | undefined;
  /** Returns the holder whose share an item uses; undefined if no share limits it. */
  holderOf?(item: WorkItem<B>): string | undefined;
  /**
   * Does the work and ends the claim in the store. An item whose claim it does not end is claimed again after its
   * lease.
   */
  run(claim: Claim<B>, signal: AbortSignal): Promise<void>;
}

export interface ClaimLoop<B> {
  start(): void;
  /** Stops claiming. Running work continues. */
  drain(): void;
  /** Drains, and after `graceMs` aborts the work that still runs (`shutdown`). Resolves when all work has ended. */
  stop(options?: { graceMs?: number }): Promise<void>;
  /** Aborts an item that runs here (`cancelled`). Returns false if it does not run here. */
  cancel(itemId: string): boolean;
  running(): WorkItem<B>[];
}

interface RunningWork<B> {
  claim: Claim<B>;
  controller: AbortController;
  done: Promise<void>;
}

/**
 * Creates a worker on the store's queue. It claims items of its kinds as they come due (`most` lanes at a time, one item
 * per lane), renews their leases while `run` works on them, and aborts the signal if a lease was lost. `run` ends its claim
 * itself, in one transaction with its results. An item whose claim is not ended is claimed again after its lease, so `run`
 * may see the same item twice. Leases of dead workers on this machine are released at once.
 *
 * @example
 * const loop = createClaimLoop<Mail>({ store, log: ctx.log, kinds: ["mail"], leaseMs: 15_000, most: () => 4, run: send });
 * loop.start();
 * ctx.defer(() => loop.stop({ graceMs: 5_000 }));
 */
export function createClaimLoop<B>(options: ClaimLoopOptions<B>): ClaimLoop<B> {
  return new QueueWorker(options);
}

/** The operations are properties, so that they can be passed on without their object. */
class QueueWorker<B> implements ClaimLoop<B> {
  readonly #options: ClaimLoopOptions<B>;
  readonly #name = newWorker();
  readonly #running = new Map<string, RunningWork<B>>();
  readonly #claims: Rounds;
  /** Searches for leases of dead processes. */
  readonly #deadChecks: Rounds;
  #isDraining = false;
  #renewal: NodeJS.Timeout | undefined;
  #unsubscribe: (() => void)[] = [];

  constructor(options: ClaimLoopOptions<B>) {
    this.#options = options;
    const { log, kinds } = options;
    this.#claims = createRounds({
      round: () => this.#claimDue(),
      retryMs: RETRY_MS,
      failed: (error) =>
        log.warn({ err: error, kinds }, "the queue could not be searched for work"),
    });
    this.#deadChecks = createRounds({
      round: () => this.#releaseDead(),
      retryMs: DEAD_CHECK_MS,
      failed: (error) => this.#logFailedCheck(error),
    });
  }

  readonly start = (): void => {
    const { kinds, leaseMs } = this.#options;
    this.#unsubscribe = kinds.map((kind) => this.#store.onWork(kind, () => this.#onWork()));
    this.#renewal = setInterval(() => void this.#renew(), leaseMs / 3).unref();
    void this.#releaseDead({ afterStart: true })
      .catch((error: unknown) => this.#logFailedCheck(error))
      .then(() => this.#startRounds());
  };

  readonly drain = (): void => {
    void this.#stopClaiming();
  };

  readonly stop = async ({ graceMs = 0 }: { graceMs?: number } = {}): Promise<void> => {
    // Items that are claimed during the drain also run, and are stopped like the others.
    await this.#stopClaiming();
    if (graceMs > 0) await endOrLate(this.#waitForAll(), graceMs);
    for (const { controller } of this.#running.values()) controller.abort(new Stopped("shutdown"));
    await this.#waitForAll();
    clearInterval(this.#renewal);
  };

  readonly cancel = (itemId: string): boolean => {
    const work = this.#running.get(itemId);
    work?.controller.abort(new Stopped("cancelled"));
    return work !== undefined;
  };

  readonly running = (): WorkItem<B>[] => this.#items();

  #items(): WorkItem<B>[] {
    return [...this.#running.values()].map(({ claim }) => claim.item);
  }

  get #store(): Store {
    return this.#options.store();
  }

  #startRounds(): void {
    if (this.#isDraining) return;
    this.#claims.start();
    this.#deadChecks.start();
  }

  /** Starts the items that are due. Returns for how many milliseconds there is nothing more to do. */
  async #claimDue(): Promise<number> {
    const shares = this.#currentShares();
    const count = this.#freePlaces() > 0 ? await this.#claimItems(shares) : 0;
    // If all places are in use, the end of an item triggers the next round.
    if (this.#freePlaces() <= 0) return LONGEST_SLEEP_MS;
    // If shares may have blocked the waiting items, the end of an item triggers the next round too.
    if (count === 0 && shares !== undefined && Object.keys(shares.used).length > 0) return RETRY_MS;
    return this.#untilNext();
  }

  async #claimItems(shares: Shares | undefined): Promise<number> {
    const { leaseMs, kinds } = this.#options;
    const claims = await this.#store.claim(this.#name, this.#freePlaces(), leaseMs, kinds, shares);
    for (const claim of claims) this.#begin(claim as Claim<B>);
    return claims.length;
  }

  #freePlaces(): number {
    return this.#options.most() - this.#running.size;
  }

  async #untilNext(): Promise<number> {
    const store = this.#store;
    const next = await store.nextWorkAt(this.#options.kinds);
    if (next === undefined) return store.inSoleUse() ? LONGEST_SLEEP_ALONE_MS : LONGEST_SLEEP_MS;
    return Math.min(Math.max(next - store.now(), SHORTEST_SLEEP_MS), LONGEST_SLEEP_MS);
  }

  #currentShares(): Shares | undefined {
    const shares = this.#options.shares?.();
    if (shares === undefined) return undefined;
    const usedPlaces: Record<string, number> = {};
    for (const item of this.#items()) {
      const holder = this.#options.holderOf?.(item);
      if (holder !== undefined) usedPlaces[holder] = (usedPlaces[holder] ?? 0) + 1;
    }
    return { used: usedPlaces, ...shares };
  }

  #begin(claim: Claim<B>): void {
    const { id } = claim.item;
    const controller = new AbortController();
    const done = this.#work(claim, controller.signal).finally(() => {
      this.#running.delete(id);
      this.#claims.poke();
    });
    this.#running.set(id, { claim, controller, done });
  }

  async #work(claim: Claim<B>, signal: AbortSignal): Promise<void> {
    const { run, log } = this.#options;
    try {
      await run(claim, signal);
    } catch (error) {
      log.error(
        { err: error, item: claim.item.id },
        "the outcome of a queue item could not be saved; the item will run again",
      );
    }
  }

  async #renew(): Promise<void> {
    const { leaseMs, log } = this.#options;
    for (const { claim, controller } of this.#running.values()) {
      try {
        const isRenewed = await this.#store.extend(claim, leaseMs);
        if (!isRenewed) controller.abort(new Stopped("lost"));
      } catch (error) {
        log.warn({ err: error, item: claim.item.id }, "a lease could not be renewed");
      }
    }
  }

  /**
   * Releases the leases of dead processes of this machine, because they need not expire first. Returns after how many
   * milliseconds to search again: never, while no other process can claim work.
   */
  async #releaseDead(options?: { afterStart: boolean }): Promise<number> {
    const store = this.#store;
    let otherWorkers = 0;
    for (const worker of await store.workers()) {
      if (isDead(worker, options)) await store.abandon(worker);
      else if (!this.#isOfThisProcess(worker)) otherWorkers++;
    }
    return store.inSoleUse() && otherWorkers === 0 ? Number.POSITIVE_INFINITY : DEAD_CHECK_MS;
  }

  #isOfThisProcess(worker: string): boolean {
    return worker.startsWith(this.#name.slice(0, this.#name.lastIndexOf(":") + 1));
  }

  #logFailedCheck(error: unknown): void {
    this.#options.log.debug({ err: error }, "the queue could not be searched for expired leases");
  }

  #onWork(): void {
    this.#claims.poke();
    if (!this.#store.inSoleUse()) this.#deadChecks.poke(DEAD_CHECK_MS);
  }

  #waitForAll(): Promise<unknown> {
    return Promise.allSettled([...this.#running.values()].map(({ done }) => done));
  }

  async #stopClaiming(): Promise<void> {
    this.#isDraining = true;
    for (const undo of this.#unsubscribe) undo();
    this.#unsubscribe = [];
    await Promise.all([this.#claims.stop(), this.#deadChecks.stop()]);
  }
}
