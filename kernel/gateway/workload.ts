/** What a stop waits for, and what keeps the gateway from being ready. */
import type { Dispose } from "../types.ts";

export function createWorkload() {
  const running = new Set<Promise<unknown>>();
  const checks = new Map<object, { name: string; check: () => string | undefined }>();

  return {
    busy<T>(work: Promise<T>): Promise<T> {
      running.add(work);
      const done = () => void running.delete(work);
      work.then(done, done);
      return work;
    },
    /** Resolves when all that runs now has ended, one way or the other. */
    ended: (): Promise<unknown> => Promise.allSettled([...running]),
    addReadiness(name: string, check: () => string | undefined): Dispose {
      const key = {};
      checks.set(key, { name, check });
      return () => void checks.delete(key);
    },
    /** What is not ready, and why. */
    unready: (): { name: string; error: string }[] =>
      [...checks.values()].flatMap(({ name, check }) => {
        const error = check();
        return error ? [{ name, error }] : [];
      }),
  };
}
