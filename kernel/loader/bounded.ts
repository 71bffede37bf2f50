/**
 * Runs code that may never return. Node cannot stop a synchronous loop from within, but V8 can interrupt a script that
 * was started with a time limit; the loop then ends in an error which nothing inside it can catch.
 * Only the synchronous part is bounded: loops after an `await` are the loop guard's business.
 */
import vm from "node:vm";

const slot: { work?: () => void } = {};
const script = `globalThis[Symbol.for("portico.bounded")]()`;
let start: ((limitMs: number) => void) | undefined;
/** The calls that wait to begin. The first one stays here until it has returned. */
const waitingCalls: {
  begin(): void;
  limitMs: number;
  done(): void;
  failed(error: unknown): void;
}[] = [];
/** Calls that together take longer than this do not share one time limit, so that none suffers for the others. */
const SHARED_MS = 5;
/**
 * The longest limit for the inspector: each call keeps some 300 bytes until its limit is over, even if the script ends
 * earlier.
 */
const MAX_INSPECTOR_MS = 10_000;

/** The external time limit is this much later than that of the loop guard, which can name the place. */
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

/** The maximum number of attempts at repeatable work. Each blocks the gateway for at most its limit. */
const MAX_ATTEMPTS = 5;

/**
 * Calls `work` and returns its result. Throws `Interrupted` if its synchronous part takes longer than `limitMs`. A call
 * costs about 10 µs, so frequent work uses `beginBounded`. Work without side effects may be `repeatable`: it is called
 * again if the process got less processor time than the limit, as on a busy machine.
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
      if (!isStarved || attempt === MAX_ATTEMPTS) throw error;
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
 * Begins a call after the current turn of the event loop, under one time limit with other waiting calls. Resolves when
 * its synchronous part has ended. Rejects with the error of that part, or with `Interrupted`.
 */
export function beginBounded(begin: () => void, limitMs: number): Promise<void> {
  return new Promise((done, failed) => {
    if (waitingCalls.push({ begin, limitMs, done, failed }) === 1) setImmediate(beginWaiting);
  });
}

function beginWaiting(): void {
  const { limitMs } = waitingCalls[0]!;
  const end = performance.now() + SHARED_MS;
  try {
    runOnce(() => {
      do {
        waitingCalls[0]!.begin();
        waitingCalls.shift()!.done();
      } while (waitingCalls[0]?.limitMs === limitMs && performance.now() < end);
    }, limitMs);
  } catch (error) {
    waitingCalls.shift()?.failed(error);
  }
  if (waitingCalls.length > 0) setImmediate(beginWaiting);
}

/**
 * Prepares the runner. `node:vm` starts a thread for each time limit (50 to 150 µs); the inspector uses a timer of V8
 * (10 µs).
 */
function prepare(): (limitMs: number) => void {
  Object.defineProperty(globalThis, Symbol.for("portico.bounded"), {
    value: () => slot.work?.(),
    enumerable: false,
  });
  const compiled = new vm.Script(script, { filename: "portico-bounded.js" });
  const inspector = process.getBuiltinModule("node:inspector") as
    | typeof import("node:inspector")
    | undefined;
  const session = inspector && new inspector.Session(); // Node can be built without the inspector
  session?.connect();
  return (timeout) => {
    if (session && timeout <= MAX_INSPECTOR_MS)
      return session.post("Runtime.evaluate", { expression: script, timeout });
    try {
      compiled.runInThisContext({ timeout });
    } catch {} // the time is over: errors of the work are caught inside
  };
}
