/** Loads a module of the user's that is neither plugin nor hook, so that it cannot hold the gateway up for ever. */
import { runBounded } from "./bounded.ts";
import { evaluateGuarded } from "./evaluate.ts";
import type { LoadedModule, Loader } from "./load.ts";
import { createLoopGuard } from "./loop-guard.ts";

/** `limitMs` bounds the evaluation, and later each of the module's loops. Throws `LoadError` with the place. */
export function loadBounded(loader: Loader, entry: string, limitMs: number): Promise<LoadedModule> {
  const { tick } = createLoopGuard(limitMs);
  return loader.load(entry, (code, file) => {
    const run = evaluateGuarded(code, file, tick);
    return (...args) => runBounded(() => run(...args), limitMs);
  });
}
