/**
 * What V8 takes to be fast, and an idle process would not give back. A start makes much that stays, for which the young
 * generation would grow to its 16 MB; and it runs some functions often that are not run again, for which the optimizing
 * compiler would be read in (4 MB) and make code of its own.
 */
import { setFlagsFromString } from "node:v8";

const LOOK_MS = 500;
/** Of a core. The timers and polls of an idle gateway need a tenth of it. */
const WORKING_SHARE = 0.05;

/** Node's own modules come with compiled code that is good for the engine's defaults alone. */
const firstLoaded = ["crypto", "http", "https", "os", "perf_hooks", "worker_threads", "zlib"];

let watch: NodeJS.Timeout | undefined;

/** To be called before anything of ours is loaded: what the engine keeps of compiled code is good for one setting. */
export function holdEngine(): void {
  for (const name of firstLoaded) process.getBuiltinModule(name);
  setFlagsFromString("--semi-space-growth-factor=1");
  setFlagsFromString("--no-opt");
  letEngineGoAtWork();
}

/** Back to its defaults as soon as the process has something to do. What it does right now, such as a start, does not count. */
export function letEngineGoAtWork(): void {
  clearInterval(watch);
  let before: number | undefined;
  watch = setInterval(() => {
    const { user, system } = process.cpuUsage();
    const used = (user + system) / 1000;
    const isAtWork = before !== undefined && used - before > LOOK_MS * WORKING_SHARE;
    before = used;
    if (!isAtWork) return;
    clearInterval(watch);
    setFlagsFromString("--semi-space-growth-factor=2");
    setFlagsFromString("--opt");
  }, LOOK_MS).unref();
}
