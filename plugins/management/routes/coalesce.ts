/** Shares the result of expensive work among concurrent callers. */
import { inBurst } from "portico";

/**
 * Calls in the same turn of the event loop share one result. The work starts after that turn, so that no caller receives
 * data from before its call.
 */
export function coalesce<T>(work: () => Promise<T>): () => Promise<T> {
  let pending: Promise<T> | undefined;
  return () => {
    if (pending === undefined) {
      pending = new Promise<void>((resolve) => void setImmediate(resolve)).then(() => {
        pending = undefined;
        return work();
      });
      inBurst(() => {}); // after the setImmediate, so that responses that wait for nothing else are written in the same turn
    }
    return pending;
  };
}
