/**
 * Runs code that may never return. Node cannot stop a synchronous loop from within, but V8 can interrupt a script that
 * was started with a time limit; the loop then ends in an error which nothing inside it can catch.
 * Only the synchronous part is bounded: loops after an `await` are the loop guard's business.
 */
import vm from "node:vm";

const slot: { work?: () => void } = {};
const script = `globalThis[Symbol.for("portico.bounded")]()`;
let start: ((limitMs: number) => void) | undefined;
/** Calls to begin; the first one stays here until it has returned. */
const waiting: { begin(): void; limitMs: number; done(): void; failed(error: unknown): void }[] =
  [];
/** Calls that take longer than this together do not share one time limit: none is to answer for the others. */
const togetherMs = 5;
/** Of the inspector's limit some 300 bytes stay until it is over, whenever the script has ended. */
const inspectedMs = 10_000;

/** The loop guard, which can name the place, comes first; the time limit from outside this much later. */
export const backstopMs = 200;

/** Thrown by `runBounded` when the time is over. */
export class Interrupted extends Error {
  override name = "Interrupted";
  constructor(limitMs: number) {
    super(
      `blocked the gateway for ${limitMs} ms without yielding (an endless loop?) and was interrupted`,
    );
  }
}

/** The most attempts at repeatable work. Each blocks the gateway for at most its limit. */
const mostAttempts = 5;

/**
 * Calls `work` and returns what it returns; throws `Interrupted` when its synchronous part takes longer than
 * `limitMs`. A call costs about 10 µs, so frequent work uses `beginBounded`. Work without side effects may be
 * `repeatable`: it is called again if the process got less processor time than the limit, as on a busy machine.
 */
export function runBounded<T>(
  work: () => T,
  limitMs: number,
  { repeatable = false }: { repeatable?: boolean } = {},
): T {
  if (!repeatable) return runOnce(work, limitMs);
  for (let attempt = 1; ; attempt++) {
    const start = process.cpuUsage();
    try {
      return runOnce(work, limitMs);
    } catch (error) {
      const { user, system } = process.cpuUsage(start);
      const isStarved = error instanceof Interrupted && (user + system) / 1000 < limitMs;
      if (!isStarved || attempt === mostAttempts) throw error;
    }
  }
}

function runOnce<T>(work: () => T, limitMs: number): T {
  start ??= prepare();
  const outer = slot.work;
  let outcome: { value: T } | { thrown: unknown } | undefined;
  slot.work = () => {
    try {
      outcome = { value: work() };
    } catch (thrown) {
      outcome = { thrown };
    }
  };
  start(Math.max(1, Math.ceil(limitMs)));
  slot.work = outer;
  if (!outcome) throw new Interrupted(limitMs);
  if ("thrown" in outcome) throw outcome.thrown;
  return outcome.value;
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
    runOnce(() => {
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

/** `node:vm` begins a thread for each time limit (50 to 150 µs); the inspector leaves it to a timer of V8 (10 µs). */
function prepare(): (limitMs: number) => void {
  Object.defineProperty(globalThis, Symbol.for("portico.bounded"), {
    value: () => slot.work?.(),
    enumerable: false,
  });
  const compiled = new vm.Script(script, { filename: "portico-bounded.js" });
  const inspector = process.getBuiltinModule("node:inspector") as
    | typeof import("node:inspector")
    | undefined;
  const session = inspector && new inspector.Session(); // Node can be built without
  session?.connect();
  return (timeout) => {
    if (session && timeout <= inspectedMs)
      return session.post("Runtime.evaluate", { expression: script, timeout });
    try {
      compiled.runInThisContext({ timeout });
    } catch {} // the time is over: what the work throws stays within
  };
}
