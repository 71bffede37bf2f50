/** Evaluates bundles: what is evaluated, and not imported, is collected with the last who holds it. */
import { pathToFileURL } from "node:url";
import { guardLoops } from "./loop-guard.ts";

/** Makes of a bundle the function that runs it: `(exports, require, module, __filename, __dirname)`. */
export type Evaluate = (code: string, entry: string) => Wrapped;
type Wrapped = (...args: unknown[]) => void;

/** Wraps the bundle as Node wraps CommonJS, on its first line, so that line numbers stay. */
export function wrapBundle(code: string, entry: string): string {
  return `(function(exports,require,module,__filename,__dirname){${code}\n})\n//# sourceURL=${pathToFileURL(entry).href}`;
}

export const evaluateBundle: Evaluate = (code, entry) => indirectEval(wrapBundle(code, entry)) as Wrapped;

/** With loops that ask `tick` before each round. A program that the guard misreads still runs, only without it. */
export function evaluateGuarded(code: string, entry: string, tick: () => true): Wrapped {
  try {
    const text = wrapBundle(guardLoops(code, "$portico_tick"), entry);
    return (indirectEval(`(function($portico_tick){return ${text}\n})`) as (tick: () => true) => Wrapped)(tick);
  } catch (error) {
    if (error instanceof SyntaxError) return evaluateBundle(code, entry);
    throw error;
  }
}

function indirectEval(code: string): unknown {
  // biome-ignore lint/security/noGlobalEval: this is how extensions are loaded
  // biome-ignore lint/complexity/noCommaOperator: indirect eval runs in the global scope
  return (0, eval)(code);
}
