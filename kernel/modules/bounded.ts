/**
 * Runs code that may never return. Node cannot stop a synchronous loop from within, but V8 can interrupt a script
 * that `node:vm` started with a time limit; the loop then ends in an error which nothing inside it can catch.
 * Only the synchronous part is bounded: loops after an `await` are the loop guard's business.
 */
import vm from "node:vm";

const slot: { work?: () => unknown } = {};
const key = Symbol.for("portico.bounded");
let script: vm.Script | undefined;
/** Calls to begin; the first one stays here until it has returned. */
const waiting: { begin(): void; limitMs: number; done(): void; failed(error: unknown): void }[] = [];
/** Calls that take longer than this together do not share one time limit: none is to answer for the others. */
const togetherMs = 5;

/** The loop guard, which can name the place, comes first; the time limit from outside this much later. */
export const backstopMs = 200;

/** Thrown by `runBounded` when the time is over. */
export class Interrupted extends Error {
  override name = "Interrupted";
  constructor(limitMs: number) {
    super(`blocked the gateway for ${limitMs} ms without yielding (an endless loop?) and was interrupted`);
  }
}

/**
 * Calls `work` and returns what it returns; throws `Interrupted` when its synchronous part takes longer than
 * `limitMs`. Costs about 0.1 ms a call (a timer thread): what is called often is begun by `beginBounded`.
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

/**
 * Begins a call behind what the event loop is doing now, under one time limit with the others that wait. Resolves when
 * its synchronous part is over; rejects with what that throws, and with `Interrupted`.
 */
export function beginBounded(begin: () => void, limitMs: number): Promise<void> {
  return new Promise((done, failed) => {
    if (waiting.push({ begin, limitMs, done, failed }) === 1) setImmediate(beginWaiting);
  });
}

function beginWaiting(): void {
  const { limitMs } = waiting[0]!;
  const end = performance.now() + togetherMs;
  try {
    runBounded(() => {
      do {
        waiting[0]!.begin();
        waiting.shift()!.done();
      } while (waiting[0]?.limitMs === limitMs && performance.now() < end);
    }, limitMs);
  } catch (error) {
    waiting.shift()?.failed(error);
  }
  if (waiting.length > 0) setImmediate(beginWaiting);
}

function prepare(): vm.Script {
  Object.defineProperty(globalThis, key, { value: () => slot.work?.(), enumerable: false });
  return new vm.Script(`globalThis[Symbol.for("portico.bounded")]()`, { filename: "portico-bounded.js" });
}
