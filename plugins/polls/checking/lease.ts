/** The lease of a poll during a check. It belongs to this process and is renewed until the check has ended. */
import type { Logger } from "portico";
import type { Store } from "portico/store";
import { KIND, type Poll } from "../poll.ts";

/**
 * The duration of a lease, as for turns. If a gateway ends during a check, another one repeats it after this time at
 * the latest.
 */
const LEASE_MS = 30_000;

export interface LeaseOptions {
  store: Store;
  log: Logger;
  poll: Poll;
  worker: string;
  /** Tests set a shorter duration. */
  leaseMs?: number | undefined;
}

export class PollLease {
  readonly poll: Poll;
  readonly #options: LeaseOptions;
  #rev: number;

  private constructor(options: LeaseOptions, rev: number) {
    this.#options = options;
    this.poll = options.poll;
    this.#rev = rev;
  }

  /** Takes the slot of a poll. Returns undefined if another process has it. */
  static async take(options: LeaseOptions): Promise<PollLease | undefined> {
    const { store, poll } = options;
    const { row } = poll;
    const slot = row.enabled ? createLeasedSlot(options) : { next: null };
    const rev = await store.tick({ kind: KIND, id: row.id, expectedNext: row.nextAt, ...slot });
    return rev === undefined ? undefined : new PollLease(options, rev);
  }

  /** The expected revision of the poll's row. A commit fails if someone else has changed the poll. */
  get rev(): number {
    return this.#rev;
  }

  /** Renews the lease until the work has ended, however it ends. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    let isOurs = this.poll.row.enabled;
    let renewal = Promise.resolve();
    let isRenewing = false;
    const timer = setInterval(() => {
      if (!isOurs || isRenewing) return;
      isRenewing = true;
      renewal = this.#renew().then((isRenewed) => {
        isOurs = isRenewed;
        isRenewing = false;
      });
    }, leaseMsOf(this.#options) / 3).unref();
    try {
      return await work();
    } finally {
      clearInterval(timer);
      await renewal;
    }
  }

  /** Resolves to false if the poll was changed, so that the lease is lost. */
  async #renew(): Promise<boolean> {
    const { store, log, poll } = this.#options;
    const { id, name } = poll.row;
    const slot = createLeasedSlot(this.#options);
    try {
      const rev = await store.commitSchedule({ kind: KIND, id, expectedRev: this.#rev, ...slot });
      if (rev !== undefined) this.#rev = rev;
      return rev !== undefined;
    } catch (error) {
      log.warn({ err: error, poll: name }, "the lease of a poll could not be renewed");
      return true;
    }
  }
}

const leaseMsOf = ({ leaseMs = LEASE_MS }: LeaseOptions): number => leaseMs;

function createLeasedSlot(options: LeaseOptions) {
  const { store, worker, poll } = options;
  const { row, state } = poll;
  const until = store.now() + leaseMsOf(options);
  const dueAt = row.nextAt;
  return {
    next: until,
    state: { ...state, leased: { until, dueAt, worker } },
    lease: { worker, dueAt },
  };
}
