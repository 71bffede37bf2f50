/**
 * Ends endless loops in users' code from within: each `while` and `for` asks, with its condition, whether the event
 * loop has been kept waiting for too long, and throws where it has. That reaches what no time limit from outside does:
 * loops after an `await`, in timers, and those that await nothing but settled promises.
 *
 * Loops of packages that are not part of the bundle are not reached, nor are slow regular expressions; for these
 * `runBounded` bounds the synchronous part of a call.
 */

/** Thrown inside a loop that blocked the gateway for too long; its stack names the place. */
export class EndlessLoopError extends Error {
  override name = "EndlessLoopError";
}

export interface LoopGuard {
  /** Called by each guarded loop before each round: true, or a throw. */
  tick(): true;
  /** How long the event loop may be kept waiting, in ms. */
  limitMs: number;
}

/** What a guarded bundle calls `tick`. */
export const tickName = "$portico_tick";

/**
 * False only where the code has nothing to guard, so that nobody need parse it. `for (let x of` is left alone, and
 * stands in what esbuild adds of its own to most bundles.
 */
export function mayLoop(code: string): boolean {
  return /\bwhile\b|\bfor\b(?! \((?:let|const|var) [\w$]+ (?:of|in) )/.test(code);
}

/** One guard for the loops of one loaded module. */
export function createLoopGuard(limitMs: number): LoopGuard {
  let rounds = 0;
  /** When the present turn of the event loop was first seen; 0 at the beginning of each. */
  let since = 0;
  let late = false;
  const turn = () => {
    since = 0;
    late = false;
  };
  const guard: LoopGuard = {
    limitMs,
    tick() {
      // Looking at the clock costs more than most rounds. Once late, every loop ends: also one around a try/catch.
      if (!late && since !== 0 && ++rounds % 256 !== 0) return true;
      const now = performance.now();
      if (since === 0) {
        since = now;
        setImmediate(turn).unref();
      } else if (now - since > guard.limitMs) {
        late = true;
        throw new EndlessLoopError(
          `a loop blocked the gateway for ${guard.limitMs} ms and was stopped`,
        );
      }
      return true;
    },
  };
  return guard;
}
