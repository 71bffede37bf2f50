/** Tracks the work that a stop waits for, and the checks of readiness. */
import { createLists } from "../host/registry.ts";
import type { Dispose } from "../contract/index.ts";

export function createWorkload() {
  // This is no Set, because a Set's discarded tables would keep their entries alive until the next full garbage
  // collection.
  const pending: { work: Promise<unknown>; place: number }[] = [];
  const checks = createLists<{ name: string; check: () => string | undefined }>();

  return {
    busy<T>(work: Promise<T>): Promise<T> {
      const entry = { work, place: pending.length };
      pending.push(entry);
      const remove = () => {
        const last = pending.pop()!;
        last.place = entry.place;
        if (last !== entry) pending[entry.place] = last;
      };
      work.then(remove, remove);
      return work;
    },
    /** Resolves when all work that is running now has ended, whether it succeeded or not. */
    whenEnded: (): Promise<unknown> => Promise.allSettled(pending.map(({ work }) => work)),
    addReadiness: (name: string, check: () => string | undefined): Dispose =>
      checks.add("all", { name, check }),
    /** Returns what is not ready, and why. */
    unready: (): { name: string; error: string }[] =>
      checks.of("all").flatMap(({ name, check }) => {
        const error = check();
        return error ? [{ name, error }] : [];
      }),
  };
}
