/** Work on what servers choose (schemas with patterns, templates of addresses), which must not hold the process up. */
import { createContext, Script } from "node:vm";

const LIMIT_MS = 50;

const script = new Script("work()");

class TooSlow extends Error {
  override name = "TooSlow";
}

/** Throws `TooSlow` where the work takes longer than the limit, also within one regular expression. */
export function runBounded<T>(work: () => T, limitMs = LIMIT_MS): T {
  const context = createContext({ work });
  try {
    return script.runInContext(context, { timeout: limitMs }) as T;
  } catch (error) {
    const isLate = (error as { code?: unknown } | null)?.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
    throw isLate ? new TooSlow(`it took more than ${limitMs} ms`) : error;
  }
}
