/**
 * Stores the steps of turns while the turns run. Every gateway can show the steps as they happen, and the steps of an
 * attempt that failed, or whose gateway was killed, are not lost. After a turn has ended, its result contains its steps.
 */
import type { Logger } from "portico";
import type { FailedAttempt, TracedStep } from "portico/agent";
import type { Store } from "portico/store";
import {
  boundTrace,
  clipError,
  closeTrace,
  FAILED_CHARS,
  RUNNING_CHARS,
  sumTrace,
  type TraceSums,
} from "./trace.ts";

const NAMESPACE = "agent:steps";
/** Changes within this time are written together. A turn that ends sooner writes none. */
const WRITE_MS = 200;
/**
 * A record is kept for this long after its last change, because a turn with failed attempts may wait for the owner for
 * days.
 */
const KEEP_MS = 7 * 86_400_000;
/** A record keeps this many failed attempts, the newest ones. */
const MAX_FAILED_ATTEMPTS = 10;

/** The steps of a turn that has not ended. JSON-ready. */
export interface StepRecord {
  /** The attempt whose steps these are, from 1. */
  attempt: number;
  /** Empty between two attempts. */
  trace: TracedStep[];
  /** The number of earlier steps of the attempt that are not in `trace`, which has a limited size. */
  omittedSteps: number;
  /** The sums over all steps of the attempt, including the omitted ones. */
  sums: TraceSums;
  /** The failed attempts, oldest first. */
  failedAttempts: FailedAttempt[];
}

export async function readSteps(store: Store, turnId: string): Promise<StepRecord | undefined> {
  return store.kv.get<StepRecord>(NAMESPACE, turnId);
}

/**
 * Returns the failed attempts before this one. If the record still has steps of an earlier attempt, its process was
 * killed.
 */
export function listFailedAttempts(
  record: StepRecord | undefined,
  attempt: number,
): FailedAttempt[] {
  if (record === undefined) return [];
  const { failedAttempts, trace } = record;
  if (record.attempt >= attempt || trace.length === 0) return failedAttempts;
  const error = {
    code: "interrupted",
    message: "The gateway stopped while this attempt was running.",
  };
  return keepNewest([...failedAttempts, createFailedAttempt(record.attempt, error, trace)]);
}

export interface RunningTurnSteps {
  turnId: string;
  attempt: number;
  /** The turn adds its steps to this list while it runs. */
  trace: TracedStep[];
  /** True if no earlier process can have left a record of this turn. */
  isFirst: boolean;
}

/** Records the steps of one attempt at a turn, which runs in this process. */
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

  /** Call this after each change of the trace. */
  scheduleWrite(): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#write(this.#turn.trace);
    }, WRITE_MS).unref();
  }

  /** Records that the attempt has failed. Another attempt follows. */
  async recordFailure(error: FailedAttempt["error"]): Promise<void> {
    const { attempt, trace } = this.#turn;
    this.#stop();
    this.#failedAttempts = keepNewest([
      ...this.#failedAttempts,
      createFailedAttempt(attempt, error, trace),
    ]);
    await this.#write([]);
  }

  /** Removes the steps from the record, because the paused turn is stored with them. */
  async recordPause(): Promise<void> {
    this.#stop();
    if (this.#failedAttempts.length === 0) await this.#remove();
    else await this.#write([]);
  }

  /** Removes the record, because the result of the ended turn contains the steps. */
  async recordEnd(): Promise<void> {
    this.#stop();
    await this.#remove();
  }

  /** Stops writing, because another process has taken over the turn and writes the record from now on. */
  abandon(): void {
    this.#stop();
  }

  #stop(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  async #readEarlier(): Promise<void> {
    const { turnId, attempt } = this.#turn;
    await this.#enqueue(async (store) => {
      const record = await readSteps(store, turnId);
      this.#isStored = record !== undefined;
      this.#failedAttempts = listFailedAttempts(record, attempt);
    });
  }

  /** Writes run one after the other, so that the last one has the newest state. */
  #write(trace: readonly TracedStep[]): Promise<void> {
    const { turnId, attempt } = this.#turn;
    const record: StepRecord = {
      attempt,
      ...boundTrace(trace, RUNNING_CHARS),
      sums: sumTrace(trace),
      failedAttempts: this.#failedAttempts,
    };
    this.#isStored = true;
    return this.#enqueue((store) => store.kv.set(NAMESPACE, turnId, record, { ttlMs: KEEP_MS }));
  }

  async #remove(): Promise<void> {
    if (!this.#isStored) return;
    await this.#enqueue(async (store) => {
      await store.kv.delete(NAMESPACE, this.#turn.turnId);
    });
  }

  /**
   * Only logs a failure, because the record is only for display and a temporary failure of the store must not end a
   * turn.
   */
  #enqueue(work: (store: Store) => Promise<void>): Promise<void> {
    const { turnId } = this.#turn;
    this.#writing = this.#writing
      .then(() => work(this.#store()))
      .catch((err: unknown) => {
        this.#log.debug({ err, turn: turnId }, "The steps of a turn were not stored.");
      });
    return this.#writing;
  }
}

function createFailedAttempt(
  attempt: number,
  { code, message }: FailedAttempt["error"],
  trace: readonly TracedStep[],
): FailedAttempt {
  return {
    attempt,
    error: { code, message: clipError(message) },
    ...boundTrace(closeTrace(trace), FAILED_CHARS),
  };
}

const keepNewest = (attempts: FailedAttempt[]): FailedAttempt[] =>
  attempts.slice(-MAX_FAILED_ATTEMPTS);
