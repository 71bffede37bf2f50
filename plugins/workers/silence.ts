/**
 * Which worker is not coming back: each is pinged once a second, and anything that it says is an answer. Counted are
 * pings, not time: where the whole machine stood still, nobody is to blame.
 */
import { readFileSync } from "node:fs";

const PING_MS = 1_000;
/** A stopped process keeps its connections, and perhaps the store's lock, until it is resumed. */
const STOPPED = 5;
/** A busy one gets longer than endless loops of users' code do, which are ended from within. */
const BUSY = 30;

interface SilenceOptions {
  pid: number | undefined;
  ping(): void;
  /** Called once. */
  giveUp(why: string): void;
}

export function watchSilence({ pid, ping, giveUp }: SilenceOptions) {
  let unanswered = 0;
  const look = () => {
    if (unanswered >= BUSY) return end(`has not answered for ${BUSY} s`);
    if (unanswered >= STOPPED && isStopped(pid)) return end("is stopped");
    unanswered++;
    ping();
  };
  const timer = setInterval(look, PING_MS).unref();
  function end(why: string): void {
    clearInterval(timer);
    giveUp(why);
  }
  return {
    heard: () => {
      unanswered = 0;
    },
    end: () => clearInterval(timer),
  };
}

/** By SIGSTOP or a terminal, not by a debugger. Where the system does not say, nobody is. */
function isStopped(pid: number | undefined): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.charAt(stat.lastIndexOf(")") + 2) === "T";
  } catch {
    return false;
  }
}
