/** Starts due and manual checks, one at a time for each poll. `PollCheck` makes the check itself. */
import { setTimeout as sleep } from "node:timers/promises";
import { newWorker } from "portico/schedules";
import type { Store } from "portico/store";
import { type Cursor, KIND, type Poll, type PollBody, toPoll } from "../poll.ts";
import type { Checked } from "./check.ts";
import { PollLease } from "./lease.ts";
import { type CheckResult, type CheckServices, PollCheck, readPollSource } from "./poll-check.ts";

/** How long a manual check waits for a running one, and how often it looks whether one in another process has ended. */
const MOST_WAIT_MS = 60_000;
const ASK_AGAIN_MS = 50;

export interface RunnerOptions extends CheckServices {
  /** For tests. */
  leaseMs?: number | undefined;
}

export class PollRunner {
  readonly #options: RunnerOptions;
  readonly #worker = newWorker();
  /** The ends of the checks that run in this process, by the ids of their polls. None rejects. */
  readonly #active = new Map<string, Promise<void>>();

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  get #store(): Store {
    return this.#options.ctx.use("store");
  }

  /** Reads a source once and writes nothing. */
  read(body: PollBody, cursor: Cursor | undefined): Promise<Checked> {
    return readPollSource(this.#options, body, cursor);
  }

  /** Starts the checks that are due, as many as there is room for. Resolves to how many were due. */
  async runDue(now: number): Promise<number> {
    const { maxConcurrent } = this.#options.settings();
    if (this.#active.size >= maxConcurrent) await Promise.race(this.#active.values());
    const room = Math.max(1, maxConcurrent - this.#active.size);
    const due = await this.#store.schedules.due(KIND, now, room);
    await Promise.all(due.map((row) => this.#start(toPoll(row))));
    return due.length;
  }

  /** A check by hand; the slot stays. Waits for a check that is running already; `undefined` if that takes too long. */
  async runNow(find: () => Promise<Poll>): Promise<CheckResult | undefined> {
    const giveUpAt = performance.now() + MOST_WAIT_MS;
    while (!this.#options.ctx.signal.aborted && performance.now() < giveUpAt) {
      const poll = await find();
      const result = await this.#tryNow(poll);
      if (result !== undefined) return result;
      // Nothing reports the end of a check in another gateway.
      const running = this.#active.get(poll.row.id);
      await Promise.race([running, sleep(ASK_AGAIN_MS)].filter(Boolean));
    }
    return undefined;
  }

  /** Resolves when no check runs in this process any more. */
  async idle(): Promise<void> {
    await Promise.all(this.#active.values());
  }

  /** Checks now; `undefined` where another check has the poll, or a change interrupted this one. */
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
    const running = check.run().catch((error: unknown) => {
      this.#options.ctx.log.error(
        { err: error, poll: poll.row.name },
        "poll could not be completed; it will be tried again",
      );
    });
    void this.#track(poll.row.id, running);
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
