/** Runs several actions in one call. */
import type { PorticoError } from "portico";
import { errors } from "../errors.ts";
import { remainingMs, withTimeout } from "../deadline.ts";
import type { Act } from "./types.ts";

/** Returns one entry for each executed action. A failed action ends the batch unless `stopOnError` is false. */
export async function batch(act: Act): Promise<unknown> {
  const start = Date.now();
  const results: Record<string, unknown>[] = [];
  for (const [index, action] of (act.input.actions as Record<string, unknown>[]).entries()) {
    try {
      if (action["kind"] === "batch") throw errors.nestedBatch({ param: `actions[${index}].kind` });
      const run = withTimeout(
        remainingMs(start, act.timeoutMs),
        "The batch",
        act.runNested(action, `actions[${index}]`),
      );
      const result = await run;
      results.push({ ok: true, kind: action["kind"], result });
    } catch (error) {
      const { code, message, param, details } = error as PorticoError;
      results.push({
        ok: false,
        kind: action["kind"],
        error: { code, message, param, ...details },
      });
      if (act.input.stopOnError !== false) break;
    }
  }
  return results;
}
