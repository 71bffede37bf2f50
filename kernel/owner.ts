/** Who is running: lets stray errors (timers, detached promises) and nested events be traced to their owner. */
import { AsyncLocalStorage } from "node:async_hooks";

export interface Running {
  /** `plugin:clock`, `hook:hello`. */
  owner: string;
  /** The events being handled, outermost first. */
  chain: readonly string[];
}

const storage = new AsyncLocalStorage<Running>();

export function runAs<T>(
  owner: string,
  work: () => T,
  event?: string,
  chain = running()?.chain ?? [],
): T {
  return storage.run({ owner, chain: event ? [...chain, event] : chain }, work);
}

/** The owner on whose behalf the current code runs; undefined for the kernel itself. */
export const running = (): Running | undefined => storage.getStore();
