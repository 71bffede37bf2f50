/**
 * What turns have done so far, kept in the store while they run: so every gateway shows their steps as they happen, and the
 * steps of an attempt that failed, or whose gateway was killed, are not lost. A turn that ends keeps its steps in its result.
 */
import type { Logger } from "portico";
import type { FailedAttempt, TracedStep } from "portico/agent";
import type { Store } from "portico/store";
import { boundTrace, closeTrace, FAILED_CHARS, RUNNING_CHARS } from "./trace.ts";

const NAMESPACE = "agent:steps";
/** Changes of one moment are written together, and a turn that is over by then writes none. */
const WRITE_MS = 200;
/** After its last change: a turn whose earlier attempts failed may wait for its owner for days. */
const KEEP_MS = 7 * 86_400_000;
/** Of a turn that fails again and again, the newest attempts. */
const MOST_FAILED = 10;

/** How far a turn has come. JSON-ready. */
export interface StepRecord {
  /** The attempt whose steps these are, from 1. */
  attempt: number;
  /** Empty between two attempts. */
  trace: TracedStep[];
  /** Earlier steps of the attempt that had no room. */
  omittedSteps: number;
  /** Oldest first. */
  failedAttempts: FailedAttempt[];
}

export async function readSteps(store: Store, turnId: string): Promise<StepRecord | undefined> {
  return store.kv.get<StepRecord>(NAMESPACE, turnId);
}

/** The attempts before this one. Where a record still has steps of an earlier one, its process was killed. */
export function failedBefore(record: StepRecord | undefined, attempt: number): FailedAttempt[] {
  if (record === undefined) return [];
  const { failedAttempts, trace } = record;
  if (record.attempt >= attempt || trace.length === 0) return failedAttempts;
  const error = { code: "interrupted", message: "The gateway stopped while this attempt ran." };
  return newest([...failedAttempts, failedAttempt(record.attempt, error, trace)]);
}

export interface RunningTurnSteps {
  turnId: string;
  attempt: number;
  /** The turn adds to it as it goes. */
  trace: TracedStep[];
  /** What an earlier process may have left behind is read first. */
  isFirst: boolean;
}

/** Follows one attempt at a turn in this process. */
export class StepRecorder {
  readonly #store: () => Store;
  readonly #log: Logger;
  readonly #turn: RunningTurnSteps;
  #failedAttempts: FailedAttempt[] = [];
  #isStored = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  private constructor(store: () => Store, log: Logger, turn: RunningTurnSteps) {
    this.#store = store;
    this.#log = log;
    this.#turn = turn;
  }

  static async start(
    store: () => Store,
    log: Logger,
    turn: RunningTurnSteps,
  ): Promise<StepRecorder> {
    const recorder = new StepRecorder(store, log, turn);
    if (!turn.isFirst) await recorder.#readEarlier();
    return recorder;
  }

  /** The attempts before this one, oldest first. */
  get failedAttempts(): readonly FailedAttempt[] {
    return this.#failedAttempts;
  }

  /** To be called after each change of the trace. */
  changed(): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#write(this.#turn.trace);
    }, WRITE_MS).unref();
  }

  /** The attempt has failed, and another one follows. */
  async failed(error: FailedAttempt["error"]): Promise<void> {
    const { attempt, trace } = this.#turn;
    this.#stop();
    this.#failedAttempts = newest([...this.#failedAttempts, failedAttempt(attempt, error, trace)]);
    await this.#write([]);
  }

  /** The turn waits, and its steps are stored with it. */
  async paused(): Promise<void> {
    this.#stop();
    if (this.#failedAttempts.length === 0) await this.#remove();
    else await this.#write([]);
  }

  /** The turn has ended, and its result holds its steps. */
  async ended(): Promise<void> {
    this.#stop();
    await this.#remove();
  }

  /** Another process has the turn, and writes its record from now on. */
  abandon(): void {
    this.#stop();
  }

  #stop(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  async #readEarlier(): Promise<void> {
    const { turnId, attempt } = this.#turn;
    await this.#attempt(async (store) => {
      const record = await readSteps(store, turnId);
      this.#isStored = record !== undefined;
      this.#failedAttempts = failedBefore(record, attempt);
    });
  }

  /** Writes follow each other, so that the newest state stays. */
  #write(trace: readonly TracedStep[]): Promise<void> {
    const { turnId, attempt } = this.#turn;
    const record: StepRecord = {
      attempt,
      ...boundTrace(trace, RUNNING_CHARS),
      failedAttempts: this.#failedAttempts,
    };
    this.#isStored = true;
    return this.#attempt((store) => store.kv.set(NAMESPACE, turnId, record, { ttlMs: KEEP_MS }));
  }

  async #remove(): Promise<void> {
    if (!this.#isStored) return;
    await this.#attempt(async (store) => {
      await store.kv.delete(NAMESPACE, this.#turn.turnId);
    });
  }

  /** A record is for those who look on: a store that fails for a moment must not end a turn. */
  #attempt(work: (store: Store) => Promise<void>): Promise<void> {
    const { turnId } = this.#turn;
    this.#writing = this.#writing
      .then(() => work(this.#store()))
      .catch((err: unknown) => {
        this.#log.debug({ err, turn: turnId }, "The steps of a turn were not stored.");
      });
    return this.#writing;
  }
}

function failedAttempt(
  attempt: number,
  { code, message }: FailedAttempt["error"],
  trace: readonly TracedStep[],
): FailedAttempt {
  return { attempt, error: { code, message }, ...boundTrace(closeTrace(trace), FAILED_CHARS) };
}

const newest = (attempts: FailedAttempt[]): FailedAttempt[] => attempts.slice(-MOST_FAILED);
