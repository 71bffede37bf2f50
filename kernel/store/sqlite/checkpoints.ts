/** Moves the log into the file from time to time, beside the running work: in a commit it would stop everything. */
import type { Logger } from "../../types.ts";
import { openLogMover, type LogMover } from "./connection.ts";

/** Seldom enough for a page that changes all the time to be moved once for many changes. */
const COMMITS = 128;
const EVERY_MS = 1000;
/** Each leaves only what was written while it ran. */
const FREE_MOVES = 2;

export interface Checkpoints {
  /** After each commit. */
  note(): void;
  /** Where it is there, commits wait for it: the last of the log is moved, so that the log can begin anew. */
  readonly held: Promise<void> | undefined;
  /** Ends what is running. */
  stop(): Promise<void>;
}

export function createCheckpoints(file: string, log: Logger): Checkpoints {
  let commits = 0;
  let last = 0;
  let mover: LogMover | undefined;
  let running: Promise<void> | undefined;
  let held: Promise<void> | undefined;

  async function move(): Promise<void> {
    try {
      mover ??= await openLogMover(file);
      const { move } = mover;
      for (let n = 0; n < FREE_MOVES; n++) await move();
      held = move();
      await held;
    } catch (error) {
      // nothing is lost: it stays in the log, and a commit moves it once the log has grown too long
      log.warn({ err: error }, "the store's log could not be moved into its file");
      close();
    } finally {
      held = undefined;
      last = performance.now();
    }
  }

  function close(): void {
    mover?.close();
    mover = undefined;
  }

  return {
    note() {
      if (++commits < COMMITS || running || performance.now() - last < EVERY_MS) return;
      commits = 0;
      running = move().finally(() => {
        running = undefined;
      });
    },
    get held() {
      return held;
    },
    async stop() {
      await running;
      close();
    },
  };
}
