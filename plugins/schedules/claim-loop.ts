/** Takes work out of the store as it comes due, keeps its leases, and drains in order. */
import { endOrLate, type Logger } from "portico";
import type { Claim, Shares, Store, WorkItem } from "portico/store";
import { createRounds, type Rounds } from "./rounds.ts";
import { isDead, newWorker } from "./worker-name.ts";

/** The longest pause between two looks at the queue, because another gateway may have added work. */
const LONGEST_SLEEP_MS = 5000;
const LONGEST_SLEEP_ALONE_MS = 30_000;
const SHORTEST_SLEEP_MS = 5;
const RETRY_LOOK_MS = 1000;
/** Between two looks for leases of processes that have died on this machine, where there can be any. */
const DEAD_LOOK_MS = 1000;

/** Why work that runs was aborted: the reason of its signal. */
export class Stopped extends Error {
  /** `lost`: another worker has taken it over, so nothing of it may be written any more. */
  readonly why: "cancelled" | "lost" | "shutdown";
  constructor(why: Stopped["why"]) {
    super(why);
    this.why = why;
  }
}

export interface ClaimLoopOptions<B> {
  store(): Store;
  log: Logger;
  /** Kinds of items. */
  kinds: readonly string[];
  leaseMs: number;
  /** Lanes worked on side by side. */
  most(): number;
  /** How lanes are shared out among the holders of items; undefined: first come, first served. */
  shares?(): { each: number; together: number } | undefined;
  /** Whom an item counts for; undefined where no share limits it. */
  holderOf?(item: WorkItem<B>): string | undefined;
  /** Does the work and ends the claim in the store. What it leaves unended comes again when its lease is over. */
  run(claim: Claim<B>, signal: AbortSignal): Promise<void>;
}

export interface ClaimLoop<B> {
  start(): void;
  /** Claims nothing more; running work continues. */
  drain(): void;
  /** `drain`, and once `graceMs` are over aborts what still runs (`shutdown`). Resolves when nothing runs any more. */
  stop(options?: { graceMs?: number }): Promise<void>;
  /** Aborts an item that runs here (`cancelled`); false where it does not. */
  cancel(itemId: string): boolean;
  running(): WorkItem<B>[];
}

interface Running<B> {
  claim: Claim<B>;
  controller: AbortController;
  done: Promise<void>;
}

/**
 * A worker on the store's queue. It claims items of its kinds as they come due (`most` lanes at a time, one item of a
 * lane), renews their leases while `run` works on them, and aborts the signal where a lease was lost. `run` ends its claim
 * itself, in one transaction with what came of it; an item that is not ended comes again when its lease is over, so `run`
 * may see the same item twice. What a worker of this machine left that is gone is freed at once.
 *
 * @example
 * const loop = createClaimLoop<Mail>({ store, log: ctx.log, kinds: ["mail"], leaseMs: 15_000, most: () => 4, run: send });
 * loop.start();
 * ctx.defer(() => loop.stop({ graceMs: 5_000 }));
 */
export function createClaimLoop<B>(options: ClaimLoopOptions<B>): ClaimLoop<B> {
  return new QueueWorker(options);
}

/** The operations are properties, so that they can be passed on singly. */
class QueueWorker<B> implements ClaimLoop<B> {
  readonly #options: ClaimLoopOptions<B>;
  readonly #name = newWorker();
  readonly #running = new Map<string, Running<B>>();
  readonly #claims: Rounds;
  /** Rounds of looking for leases of the dead. */
  readonly #looks: Rounds;
  #draining = false;
  #renewal: NodeJS.Timeout | undefined;
  #unsubscribe: (() => void)[] = [];

  constructor(options: ClaimLoopOptions<B>) {
    this.#options = options;
    const { log, kinds } = options;
    this.#claims = createRounds({
      round: () => this.#claimDue(),
      retryMs: RETRY_LOOK_MS,
      failed: (error) =>
        log.warn({ err: error, kinds }, "the queue could not be searched for work"),
    });
    this.#looks = createRounds({
      round: () => this.#releaseDead(),
      retryMs: DEAD_LOOK_MS,
      failed: (error) => this.#couldNotLook(error),
    });
  }

  readonly start = (): void => {
    const { kinds, leaseMs } = this.#options;
    this.#unsubscribe = kinds.map((kind) => this.#store.onWork(kind, () => this.#onWork()));
    this.#renewal = setInterval(() => void this.#renew(), leaseMs / 3).unref();
    void this.#releaseDead({ afterStart: true })
      .catch((error: unknown) => this.#couldNotLook(error))
      .then(() => this.#startRounds());
  };

  readonly drain = (): void => {
    void this.#drained();
  };

  readonly stop = async ({ graceMs = 0 }: { graceMs?: number } = {}): Promise<void> => {
    // What is claimed meanwhile runs, and is stopped like what ran before.
    await this.#drained();
    if (graceMs > 0) await endOrLate(this.#allEnded(), graceMs);
    for (const { controller } of this.#running.values()) controller.abort(new Stopped("shutdown"));
    await this.#allEnded();
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
    if (this.#draining) return;
    this.#claims.start();
    this.#looks.start();
  }

  /** Begins what is due, and answers for how many milliseconds there is nothing more to do. */
  async #claimDue(): Promise<number> {
    const shares = this.#sharesNow();
    const count = this.#room() > 0 ? await this.#beginDue(shares) : 0;
    // With every place taken, the end of one wakes this up.
    if (this.#room() <= 0) return LONGEST_SLEEP_MS;
    // So does the end of work whose holder has no share left.
    if (count === 0 && shares !== undefined && Object.keys(shares.used).length > 0)
      return RETRY_LOOK_MS;
    return this.#untilNext();
  }

  async #beginDue(shares: Shares | undefined): Promise<number> {
    const { leaseMs, kinds } = this.#options;
    const claims = await this.#store.claim(this.#name, this.#room(), leaseMs, kinds, shares);
    for (const claim of claims) this.#begin(claim as Claim<B>);
    return claims.length;
  }

  #room(): number {
    return this.#options.most() - this.#running.size;
  }

  async #untilNext(): Promise<number> {
    const store = this.#store;
    const next = await store.nextWorkAt(this.#options.kinds);
    if (next === undefined) return store.inSoleUse() ? LONGEST_SLEEP_ALONE_MS : LONGEST_SLEEP_MS;
    return Math.min(Math.max(next - store.now(), SHORTEST_SLEEP_MS), LONGEST_SLEEP_MS);
  }

  #sharesNow(): Shares | undefined {
    const shares = this.#options.shares?.();
    if (shares === undefined) return undefined;
    const used: Record<string, number> = {};
    for (const item of this.#items()) {
      const holder = this.#options.holderOf?.(item);
      if (holder !== undefined) used[holder] = (used[holder] ?? 0) + 1;
    }
    return { used, ...shares };
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
        "the end of a queue item could not be recorded; it will run again",
      );
    }
  }

  async #renew(): Promise<void> {
    const { leaseMs, log } = this.#options;
    for (const { claim, controller } of this.#running.values()) {
      try {
        const isHeld = await this.#store.extend(claim, leaseMs);
        if (!isHeld) controller.abort(new Stopped("lost"));
      } catch (error) {
        log.warn({ err: error, item: claim.item.id }, "could not renew a lease");
      }
    }
  }

  /**
   * An ended process of this machine will not continue its work, so its leases need not expire first.
   * Returns when to look again: never, while no other process can claim work.
   */
  async #releaseDead(how?: { afterStart: boolean }): Promise<number> {
    const store = this.#store;
    let others = 0;
    for (const worker of await store.workers()) {
      if (isDead(worker, how)) await store.abandon(worker);
      else if (!this.#isOfThisProcess(worker)) others++;
    }
    return store.inSoleUse() && others === 0 ? Number.POSITIVE_INFINITY : DEAD_LOOK_MS;
  }

  #isOfThisProcess(worker: string): boolean {
    return worker.startsWith(this.#name.slice(0, this.#name.lastIndexOf(":") + 1));
  }

  #couldNotLook(error: unknown): void {
    this.#options.log.debug({ err: error }, "the queue could not be searched for expired leases");
  }

  #onWork(): void {
    this.#claims.poke();
    if (!this.#store.inSoleUse()) this.#looks.poke(DEAD_LOOK_MS);
  }

  #allEnded(): Promise<unknown> {
    return Promise.allSettled([...this.#running.values()].map(({ done }) => done));
  }

  async #drained(): Promise<void> {
    this.#draining = true;
    for (const undo of this.#unsubscribe) undo();
    this.#unsubscribe = [];
    await Promise.all([this.#claims.stop(), this.#looks.stop()]);
  }
}
