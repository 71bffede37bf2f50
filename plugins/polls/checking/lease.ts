/** The lease of a poll while it is being checked: bound to this process, and renewed until the check has ended. */
import type { Logger } from "portico";
import type { Store } from "portico/store";
import { KIND, type Poll } from "../poll.ts";

/** The same as for turns: the check of a gateway that has ended starts again after this time at the latest. */
const LEASE_MS = 30_000;

export interface LeaseOptions {
  store: Store;
  log: Logger;
  poll: Poll;
  worker: string;
  /** For tests. */
  leaseMs?: number;
}

export class PollLease {
  readonly poll: Poll;
  readonly #options: LeaseOptions;
  #rev: number;
  #renewal: Promise<void> | undefined;
  readonly #timer: NodeJS.Timeout;

  private constructor(options: LeaseOptions, rev: number) {
    this.#options = options;
    this.poll = options.poll;
    this.#rev = rev;
    this.#timer = setInterval(() => {
      this.#renewal ??= this.#renew().finally(() => {
        this.#renewal = undefined;
      });
    }, leaseMsOf(options) / 3).unref();
  }

  /** Takes the slot of a poll; `undefined` where another process has it. */
  static async take(options: LeaseOptions): Promise<PollLease | undefined> {
    const { store, poll } = options;
    const { row } = poll;
    const taken = row.enabled ? leased(options) : { next: null };
    const rev = await store.tick({ kind: KIND, id: row.id, expectedNext: row.nextAt, ...taken });
    return rev === undefined ? undefined : new PollLease(options, rev);
  }

  /** Ends the renewal. Resolves to the revision of the row: if anybody changed the poll meanwhile, a commit fails. */
  async end(): Promise<number> {
    clearInterval(this.#timer);
    await this.#renewal;
    return this.#rev;
  }

  async #renew(): Promise<void> {
    const { store, log, poll } = this.#options;
    const { id, enabled, name } = poll.row;
    if (!enabled) return;
    try {
      const rev = await store.commitSchedule({
        kind: KIND,
        id,
        expectedRev: this.#rev,
        ...leased(this.#options),
      });
      if (rev === undefined) clearInterval(this.#timer);
      else this.#rev = rev;
    } catch (error) {
      log.warn({ err: error, poll: name }, "the lease of a poll could not be renewed");
    }
  }
}

const leaseMsOf = ({ leaseMs = LEASE_MS }: LeaseOptions): number => leaseMs;

function leased(options: LeaseOptions) {
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
