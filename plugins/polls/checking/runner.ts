/** Starts due and manual checks, one at a time for each poll. `PollCheck` performs the check itself. */
import { setTimeout as sleep } from "node:timers/promises";
import { newWorker } from "portico/schedules";
import type { Store } from "portico/store";
import { type Cursor, KIND, type Poll, type PollBody, toPoll } from "../poll.ts";
import type { SourceCheck } from "./check.ts";
import { PollLease } from "./lease.ts";
import { type CheckResult, type CheckServices, PollCheck, readPollSource } from "./poll-check.ts";

/** The longest wait of a manual check for a running one, and the pause between its attempts. */
const MAX_WAIT_MS = 60_000;
const RETRY_MS = 50;

export interface RunnerOptions extends CheckServices {
  /** Tests set a shorter duration of leases. */
  leaseMs?: number | undefined;
}

export class PollRunner {
  readonly #options: RunnerOptions;
  readonly #worker = newWorker();
  /** Promises for the ends of the checks in this process, by the id of the poll. They never reject. */
  readonly #active = new Map<string, Promise<void>>();

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  get #store(): Store {
    return this.#options.ctx.use("store");
  }

  /** Reads a source once and writes nothing. */
  read(body: PollBody, cursor: Cursor | undefined): Promise<SourceCheck> {
    return readPollSource(this.#options, body, cursor);
  }

  /** Starts the checks that are due, up to `maxConcurrent`. Resolves to the number of due polls that it found. */
  async runDue(now: number): Promise<number> {
    const { maxConcurrent } = this.#options.settings();
    if (this.#active.size >= maxConcurrent) await Promise.race(this.#active.values());
    const freePlaces = Math.max(1, maxConcurrent - this.#active.size);
    const dueRows = await this.#store.schedules.due(KIND, now, freePlaces);
    await Promise.all(dueRows.map((row) => this.#start(toPoll(row))));
    return dueRows.length;
  }

  /**
   * Checks a poll now and keeps its slot. Waits for a running check first; resolves to undefined if that takes too
   * long.
   */
  async runNow(find: () => Promise<Poll>): Promise<CheckResult | undefined> {
    const giveUpAt = performance.now() + MAX_WAIT_MS;
    while (!this.#options.ctx.signal.aborted && performance.now() < giveUpAt) {
      const poll = await find();
      const result = await this.#tryNow(poll);
      if (result !== undefined) return result;
      // Nothing reports the end of a check in another gateway.
      const runningCheck = this.#active.get(poll.row.id);
      await Promise.race([runningCheck, sleep(RETRY_MS)].filter(Boolean));
    }
    return undefined;
  }

  /** Resolves when no check runs in this process any more. */
  async idle(): Promise<void> {
    await Promise.all(this.#active.values());
  }

  /**
   * Tries a manual check. Returns undefined if another check has the poll, or if the poll was changed during this one.
   */
  async #tryNow(poll: Poll): Promise<CheckResult | undefined> {
    const { id, nextAt } = poll.row;
    const { leased } = poll.state;
    const isTaken =
      leased !== undefined && leased.until === nextAt && leased.until > this.#store.now();
    if (isTaken) return undefined;
    const lease = await this.#take(poll);
    if (lease === undefined) return undefined;
    const check = new PollCheck(this.#options, lease, { trigger: "manual", slot: nextAt });
    return this.#track(id, check.run());
  }

  async #start(poll: Poll): Promise<void> {
    const lease = await this.#take(poll);
    if (lease === undefined) return;
    const check = new PollCheck(this.#options, lease, { trigger: "schedule" });
    const completion = check.run().catch((error: unknown) => {
      this.#options.ctx.log.error(
        { err: error, poll: poll.row.name },
        "a check of a poll could not be completed; the gateway will try again",
      );
    });
    void this.#track(poll.row.id, completion);
  }

  #take(poll: Poll): Promise<PollLease | undefined> {
    const { ctx, leaseMs } = this.#options;
    const worker = this.#worker;
    return PollLease.take({ store: this.#store, log: ctx.log, poll, worker, leaseMs });
  }

  #track<T>(id: string, check: Promise<T>): Promise<T> {
    const forget = (): void => {
      if (this.#active.get(id) === end) this.#active.delete(id);
    };
    const end = check.then(forget, forget);
    this.#active.set(id, end);
    return this.#options.ctx.busy(check);
  }
}
