/**
 * Detects a worker that no longer responds. It pings the worker once a second, and any message of the worker counts as a
 * response. It counts unanswered pings instead of time, so that a pause of the whole machine blames no worker.
 */
import { readFileSync } from "node:fs";

const PING_MS = 1_000;
/** A stopped process keeps its connections, and perhaps the store's lock, until it is resumed. */
const MAX_PINGS_STOPPED = 5;
/** A busy worker gets more time than an endless loop of a user's code, which the worker ends itself. */
const MAX_PINGS_BUSY = 30;

interface SilenceOptions {
  pid: number | undefined;
  ping(): void;
  /** The watcher calls this at most once. */
  giveUp(why: string): void;
}

export function watchSilence({ pid, ping, giveUp }: SilenceOptions) {
  let unanswered = 0;
  const checkWorker = () => {
    if (unanswered >= MAX_PINGS_BUSY) return end(`has not responded for ${MAX_PINGS_BUSY} s`);
    if (unanswered >= MAX_PINGS_STOPPED && isStopped(pid)) return end("is stopped");
    unanswered++;
    ping();
  };
  const timer = setInterval(checkWorker, PING_MS).unref();
  function end(why: string): void {
    clearInterval(timer);
    giveUp(why);
  }
  return {
    countMessage: () => {
      unanswered = 0;
    },
    end: () => clearInterval(timer),
  };
}

/** Returns whether SIGSTOP or a terminal has stopped the process; false for a debugger, and on systems without `/proc`. */
function isStopped(pid: number | undefined): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.charAt(stat.lastIndexOf(")") + 2) === "T";
  } catch {
    return false;
  }
}
