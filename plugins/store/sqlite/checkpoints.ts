/** Moves the log into the file from time to time in another thread: within a commit, that would block all other work. */
import type { Logger } from "portico";
import { openCheckpointer, type Checkpointer } from "./connection.ts";

/** Checkpoints are rare, so that a page which changes all the time is moved once for many changes. */
const MIN_COMMITS = 128;
const MIN_INTERVAL_MS = 1000;
/** The number of runs beside commits. Each leaves only the pages that were written while it ran. */
const CONCURRENT_RUNS = 2;

export interface Checkpoints {
  /** Call this after each commit. */
  countCommit(): void;
  /** If defined, commits wait for it: the last run moves the rest of the log, so that the log can restart. Never rejects. */
  readonly pause: Promise<void> | undefined;
  /** Waits for a running checkpoint and closes the connection. */
  stop(): Promise<void>;
}

export function createCheckpoints(file: string, log: Logger): Checkpoints {
  let commits = 0;
  let lastEnd = 0;
  let checkpointer: Checkpointer | undefined;
  let runningCheckpoint: Promise<void> | undefined;
  let pause: Promise<void> | undefined;

  async function checkpoint(): Promise<void> {
    try {
      checkpointer ??= await openCheckpointer(file);
      for (let n = 0; n < CONCURRENT_RUNS; n++) await checkpointer.run();
      const lastRun = checkpointer.run();
      pause = lastRun.catch(() => {});
      await lastRun;
    } catch (error) {
      // No data is lost: it stays in the log, and a commit moves it once the log has grown too long.
      log.warn({ err: error }, "a checkpoint of the store's write-ahead log failed");
      close();
    } finally {
      pause = undefined;
      lastEnd = performance.now();
    }
  }

  function close(): void {
    checkpointer?.close();
    checkpointer = undefined;
  }

  return {
    countCommit() {
      if (
        ++commits < MIN_COMMITS ||
        runningCheckpoint ||
        performance.now() - lastEnd < MIN_INTERVAL_MS
      )
        return;
      commits = 0;
      runningCheckpoint = checkpoint().finally(() => {
        runningCheckpoint = undefined;
      });
    },
    get pause() {
      return pause;
    },
    async stop() {
      await runningCheckpoint;
      close();
    },
  };
}
