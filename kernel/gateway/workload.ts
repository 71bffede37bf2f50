/** What a stop waits for, and what keeps the gateway from being ready. */
import { createLists } from "../host/registry.ts";
import type { Dispose } from "../contract/index.ts";

export function createWorkload() {
  // No Set: its old tables would keep what they held until the next full garbage collection.
  const running: { work: Promise<unknown>; place: number }[] = [];
  const checks = createLists<{ name: string; check: () => string | undefined }>();

  return {
    busy<T>(work: Promise<T>): Promise<T> {
      const entry = { work, place: running.length };
      running.push(entry);
      const done = () => {
        const last = running.pop()!;
        last.place = entry.place;
        if (last !== entry) running[entry.place] = last;
      };
      work.then(done, done);
      return work;
    },
    /** Resolves when all that runs now has ended, one way or the other. */
    ended: (): Promise<unknown> => Promise.allSettled(running.map(({ work }) => work)),
    addReadiness: (name: string, check: () => string | undefined): Dispose =>
      checks.add("all", { name, check }),
    /** What is not ready, and why. */
    unready: (): { name: string; error: string }[] =>
      checks.of("all").flatMap(({ name, check }) => {
        const error = check();
        return error ? [{ name, error }] : [];
      }),
  };
}
