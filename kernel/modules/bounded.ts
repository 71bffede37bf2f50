/**
 * Runs code that may never return. Node cannot stop a synchronous loop from within, but V8 can interrupt a script
 * that `node:vm` started with a time limit; the loop then ends in an error which nothing inside it can catch.
 * Only the synchronous part is bounded: loops after an `await` are the loop guard's business.
 */
import vm from "node:vm";

const slot: { work?: () => unknown } = {};
const key = Symbol.for("portico.bounded");
let script: vm.Script | undefined;

/** The loop guard, which can name the place, comes first; the time limit from outside this much later. */
export const backstopMs = 200;

/** Thrown by `runBounded` when the time is over. */
export class Interrupted extends Error {
  readonly limitMs: number;
  constructor(limitMs: number) {
    super(`blocked the gateway for ${limitMs} ms without yielding (an endless loop?) and was interrupted`);
    this.name = "Interrupted";
    this.limitMs = limitMs;
  }
}

/**
 * Calls `work` and returns what it returns; throws `Interrupted` when its synchronous part takes longer than
 * `limitMs`. Costs about 0.1 ms a call (a timer thread), so it is for user code and not for hot paths.
 */
export function runBounded<T>(work: () => T, limitMs: number): T {
  script ??= prepare();
  const outer = slot.work;
  slot.work = work;
  try {
    return script.runInThisContext({ timeout: Math.max(1, Math.ceil(limitMs)) }) as T;
  } catch (error) {
    if ((error as { code?: unknown } | null)?.code === "ERR_SCRIPT_EXECUTION_TIMEOUT") throw new Interrupted(limitMs);
    throw error;
  } finally {
    slot.work = outer;
  }
}

function prepare(): vm.Script {
  Object.defineProperty(globalThis, key, { value: () => slot.work?.(), enumerable: false });
  return new vm.Script(`globalThis[Symbol.for("portico.bounded")]()`, { filename: "portico-bounded.js" });
}
