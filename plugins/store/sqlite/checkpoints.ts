/** Moves the log into the file from time to time, beside the running work: in a commit it would stop everything. */
import type { Logger } from "portico";
import { openCheckpointer, type Checkpointer } from "./connection.ts";

/** Seldom enough for a page that changes all the time to be moved once for many changes. */
const COMMITS = 128;
const EVERY_MS = 1000;
/** Each leaves only what was written while it ran. */
const FREE_RUNS = 2;

export interface Checkpoints {
  /** After each commit. */
  note(): void;
  /** Where it is there, commits wait: the last of the log is moved, so that the log can start again. Never rejects. */
  readonly held: Promise<void> | undefined;
  /** Ends what is running. */
  stop(): Promise<void>;
}

export function createCheckpoints(file: string, log: Logger): Checkpoints {
  let commits = 0;
  let lastEnd = 0;
  let checkpointer: Checkpointer | undefined;
  let running: Promise<void> | undefined;
  let pause: Promise<void> | undefined;

  async function checkpoint(): Promise<void> {
    try {
      checkpointer ??= await openCheckpointer(file);
      for (let n = 0; n < FREE_RUNS; n++) await checkpointer.run();
      const last = checkpointer.run();
      pause = last.catch(() => {});
      await last;
    } catch (error) {
      // nothing is lost: it stays in the log, and a commit moves it once the log has grown too long
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
    note() {
      if (++commits < COMMITS || running || performance.now() - lastEnd < EVERY_MS) return;
      commits = 0;
      running = checkpoint().finally(() => {
        running = undefined;
      });
    },
    get held() {
      return pause;
    },
    async stop() {
      await running;
      close();
    },
  };
}
