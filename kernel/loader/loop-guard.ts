/**
 * Ends endless loops in users' code from within: each `while` and `for` checks, with its condition, whether the event
 * loop has been blocked for too long, and throws if it has. This covers loops that an external time limit does not:
 * loops after an `await`, in timers, and those that await only settled promises.
 *
 * It does not cover loops of packages that are not part of the bundle, nor slow regular expressions; for these,
 * `runBounded` limits the synchronous part of a call.
 */

/** Thrown inside a loop that blocked the gateway for too long; its stack names the place. */
export class EndlessLoopError extends Error {
  override name = "EndlessLoopError";
}

export interface LoopGuard {
  /** Called by each guarded loop before each iteration. Returns true or throws. */
  tick(): true;
  /** The longest time that the event loop may be blocked, in ms. */
  limitMs: number;
}

/** The name of `tick` in a guarded bundle. */
export const tickName = "$portico_tick";

/**
 * Whether the code may have loops to guard, so that it must be parsed. `for (let x of` is not guarded, and occurs in
 * helpers that esbuild adds to most bundles.
 */
export function mayLoop(code: string): boolean {
  return /\bwhile\b|\bfor\b(?! \((?:let|const|var) [\w$]+ (?:of|in) )/.test(code);
}

/** Creates the guard for the loops of one loaded module. */
export function createLoopGuard(limitMs: number): LoopGuard {
  let rounds = 0;
  /** The time of the first call in this turn of the event loop; 0 before it. */
  let turnStart = 0;
  let isLate = false;
  const resetTurn = () => {
    turnStart = 0;
    isLate = false;
  };
  const guard: LoopGuard = {
    limitMs,
    tick() {
      // Reading the clock costs more than most iterations. Once the limit is exceeded, every loop ends, even one around
      // a try/catch.
      if (!isLate && turnStart !== 0 && ++rounds % 256 !== 0) return true;
      const now = performance.now();
      if (turnStart === 0) {
        turnStart = now;
        setImmediate(resetTurn).unref();
      } else if (now - turnStart > guard.limitMs) {
        isLate = true;
        throw new EndlessLoopError(
          `a loop blocked the gateway for ${guard.limitMs} ms and was stopped`,
        );
      }
      return true;
    },
  };
  return guard;
}
