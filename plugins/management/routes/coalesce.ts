/** What is costly to find out, and the same for all who ask. */
import { inBurst } from "portico";

/**
 * Calls that come in one turn of the event loop share one result. It is found out once all of them are there: none gets
 * what was so before it asked.
 */
export function coalesce<T>(work: () => Promise<T>): () => Promise<T> {
  let next: Promise<T> | undefined;
  return () => {
    if (next === undefined) {
      next = new Promise<void>((resolve) => void setImmediate(resolve)).then(() => {
        next = undefined;
        return work();
      });
      inBurst(() => {}); // behind it: a response that waits for nothing else goes out in the same turn
    }
    return next;
  };
}
