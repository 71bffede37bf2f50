/** Loads a module of the user's that is neither plugin nor hook, so that it cannot hold the gateway up for ever. */
import { runBounded } from "./bounded.ts";
import { type LoadedModule, type Loader, wrapBundle } from "./load.ts";
import { createLoopGuard, guardLoops } from "./loop-guard.ts";

type Wrapped = (...args: unknown[]) => void;

/** `limitMs` bounds the evaluation, and later each of the module's loops. Throws `LoadError` with the place. */
export function loadBounded(loader: Loader, entry: string, limitMs: number): Promise<LoadedModule> {
  const { tick } = createLoopGuard(limitMs);
  return loader.load(entry, (code, file) => {
    const run = evaluate(code, file, tick);
    return (...args) => runBounded(() => run(...args), limitMs);
  });
}

function evaluate(code: string, entry: string, tick: () => true): Wrapped {
  try {
    const text = wrapBundle(guardLoops(code, "$portico_tick"), entry);
    return (indirectEval(`(function($portico_tick){return ${text}\n})`) as (tick: () => true) => Wrapped)(tick);
  } catch (error) {
    // A program that the guard misread still runs, only without it.
    if (error instanceof SyntaxError) return indirectEval(wrapBundle(code, entry)) as Wrapped;
    throw error;
  }
}

function indirectEval(code: string): unknown {
  // biome-ignore lint/security/noGlobalEval: bundles are evaluated, so that an old version can be collected
  // biome-ignore lint/complexity/noCommaOperator: indirect eval runs in the global scope
  return (0, eval)(code);
}
