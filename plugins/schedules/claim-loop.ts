/** Takes work out of the store as it comes due, keeps its leases, and drains in order. */
import { endOrLate, type Logger } from "portico";
import type { Claim, Shares, Store, WorkItem } from "portico/store";
import { createRounds } from "./rounds.ts";
import { isDead, newWorker } from "./worker-name.ts";

/** At the latest then it looks again: another gateway may have put something in; where there is none, only to be sure. */
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
  /** How lanes are shared out among the holders of items; undefined: whoever comes first. */
  shares?(): { each: number; together: number } | undefined;
  /** Whom an item counts for; undefined where no share limits it. */
  holderOf?(item: WorkItem<B>): string | undefined;
  /** Does the work and ends the claim in the store. What it leaves unended comes again when its lease is over. */
  run(claim: Claim<B>, signal: AbortSignal): Promise<void>;
}

export interface ClaimLoop<B> {
  start(): void;
  /** Takes nothing more; what runs goes on. */
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
  const { log, kinds, leaseMs } = options;
  const name = newWorker();
  const isOfThisProcess = (worker: string) =>
    worker.startsWith(name.slice(0, name.lastIndexOf(":") + 1));
  const running = new Map<string, Running<B>>();
  let draining = false;
  let renewal: NodeJS.Timeout | undefined;
  let unsubscribe: (() => void)[] = [];

  const rounds = createRounds({
    round: take,
    retryMs: RETRY_LOOK_MS,
    failed: (error) => log.warn({ err: error, kinds }, "could not look for work"),
  });
  const looks = createRounds({
    round: () => releaseDead(),
    retryMs: DEAD_LOOK_MS,
    failed: couldNotLook,
  });

  /** Begins what is due, and answers how long there is nothing more to do. */
  async function take(): Promise<number> {
    const store = options.store();
    const room = () => options.most() - running.size;
    const shares = sharesNow();
    let begun = 0;
    if (room() > 0) {
      const claims = await store.claim(name, room(), leaseMs, kinds, shares);
      begun = claims.length;
      for (const claim of claims) begin(claim as Claim<B>);
    }
    // with every place taken, the end of one is what wakes this up
    if (room() <= 0) return LONGEST_SLEEP_MS;
    // so it is with what waits for its share
    if (begun === 0 && shares !== undefined && Object.keys(shares.used).length > 0)
      return RETRY_LOOK_MS;
    const next = await store.nextWorkAt(kinds);
    if (next === undefined) return store.inSoleUse() ? LONGEST_SLEEP_ALONE_MS : LONGEST_SLEEP_MS;
    return Math.min(Math.max(next - store.now(), SHORTEST_SLEEP_MS), LONGEST_SLEEP_MS);
  }

  function sharesNow(): Shares | undefined {
    const shares = options.shares?.();
    if (shares === undefined) return undefined;
    const used: Record<string, number> = {};
    for (const { claim } of running.values()) {
      const holder = options.holderOf?.(claim.item);
      if (holder !== undefined) used[holder] = (used[holder] ?? 0) + 1;
    }
    return { used, ...shares };
  }

  function begin(claim: Claim<B>): void {
    const { id } = claim.item;
    const controller = new AbortController();
    const done = work(claim, controller.signal).finally(() => {
      running.delete(id);
      rounds.poke();
    });
    running.set(id, { claim, controller, done });
  }

  async function work(claim: Claim<B>, signal: AbortSignal): Promise<void> {
    try {
      await options.run(claim, signal);
    } catch (error) {
      log.error({ err: error, item: claim.item.id }, "work could not be ended; it comes again");
    }
  }

  async function renew(): Promise<void> {
    for (const { claim, controller } of running.values()) {
      try {
        if (!(await options.store().extend(claim, leaseMs))) controller.abort(new Stopped("lost"));
      } catch (error) {
        log.warn({ err: error, item: claim.item.id }, "could not renew a lease");
      }
    }
  }

  /**
   * A process of this machine that is gone will not come back for its work: no need to wait for its leases. Answers when to
   * look again: never, while nobody else can take any.
   */
  async function releaseDead(how?: { afterStart: boolean }): Promise<number> {
    const store = options.store();
    let others = 0;
    for (const worker of await store.workers()) {
      if (isDead(worker, how)) await store.abandon(worker);
      else if (!isOfThisProcess(worker)) others++;
    }
    return store.inSoleUse() && others === 0 ? Number.POSITIVE_INFINITY : DEAD_LOOK_MS;
  }

  function couldNotLook(error: unknown): void {
    log.debug({ err: error }, "could not look for leases of the dead");
  }

  const ended = () => Promise.allSettled([...running.values()].map(({ done }) => done));

  function told(): void {
    rounds.poke();
    if (!options.store().inSoleUse()) looks.poke(DEAD_LOOK_MS);
  }

  async function drain(): Promise<void> {
    draining = true;
    for (const undo of unsubscribe) undo();
    unsubscribe = [];
    await Promise.all([rounds.stop(), looks.stop()]);
  }

  return {
    start() {
      unsubscribe = kinds.map((kind) => options.store().onWork(kind, told));
      renewal = setInterval(() => void renew(), leaseMs / 3).unref();
      const begin = () => {
        if (draining) return;
        rounds.start();
        looks.start();
      };
      void releaseDead({ afterStart: true }).catch(couldNotLook).then(begin);
    },
    drain: () => void drain(),
    async stop({ graceMs = 0 } = {}) {
      // what is claimed meanwhile runs, and is stopped like what ran before
      await drain();
      if (graceMs > 0) await endOrLate(ended(), graceMs);
      for (const { controller } of running.values()) controller.abort(new Stopped("shutdown"));
      await ended();
      clearInterval(renewal);
    },
    cancel(itemId) {
      const found = running.get(itemId);
      found?.controller.abort(new Stopped("cancelled"));
      return found !== undefined;
    },
    running: () => [...running.values()].map(({ claim }) => claim.item),
  };
}
