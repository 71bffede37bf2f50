/**
 * Records of the steps of turns, in the store while the turns run. Every gateway can show the steps as they happen, and those
 * of an attempt that failed, or whose gateway was killed, are not lost. The result of a turn that has ended holds its steps.
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
/** How long a record is kept after its last change: a turn whose earlier attempts failed may wait for the owner for days. */
const KEEP_MS = 7 * 86_400_000;
/** How many failed attempts a record keeps: the newest ones. */
const MOST_FAILED = 10;

/** The steps of a turn that has not ended. JSON-ready. */
export interface StepRecord {
  /** The attempt whose steps these are, from 1. */
  attempt: number;
  /** Empty between two attempts. */
  trace: TracedStep[];
  /** How many earlier steps of the attempt are not in `trace`, which has a limited size. */
  omittedSteps: number;
  /** Of all steps of the attempt, the omitted ones too. */
  sums: TraceSums;
  /** Oldest first. */
  failedAttempts: FailedAttempt[];
}

export async function readSteps(store: Store, turnId: string): Promise<StepRecord | undefined> {
  return store.kv.get<StepRecord>(NAMESPACE, turnId);
}

/** The attempts before this one. If a record still has steps of an earlier attempt, the process of that one was killed. */
export function failedBefore(record: StepRecord | undefined, attempt: number): FailedAttempt[] {
  if (record === undefined) return [];
  const { failedAttempts, trace } = record;
  if (record.attempt >= attempt || trace.length === 0) return failedAttempts;
  const error = {
    code: "interrupted",
    message: "The gateway stopped while this attempt was running.",
  };
  return newest([...failedAttempts, failedAttempt(record.attempt, error, trace)]);
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

  /** The turn has ended, and its result holds the steps. */
  async ended(): Promise<void> {
    this.#stop();
    await this.#remove();
  }

  /** Another process has taken the turn over, and writes the record from now on. */
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
    return this.#attempt((store) => store.kv.set(NAMESPACE, turnId, record, { ttlMs: KEEP_MS }));
  }

  async #remove(): Promise<void> {
    if (!this.#isStored) return;
    await this.#attempt(async (store) => {
      await store.kv.delete(NAMESPACE, this.#turn.turnId);
    });
  }

  /** A failure is only logged: the record serves readers alone, so a store that fails for a moment must not end a turn. */
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
  return {
    attempt,
    error: { code, message: clipError(message) },
    ...boundTrace(closeTrace(trace), FAILED_CHARS),
  };
}

const newest = (attempts: FailedAttempt[]): FailedAttempt[] => attempts.slice(-MOST_FAILED);
