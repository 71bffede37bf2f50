/** Who is running: lets stray errors (timers, detached promises) and nested events be traced to their owner. */
import { AsyncLocalStorage } from "node:async_hooks";

export interface Running {
  /** `plugin:clock`, `hook:hello`. */
  owner: string;
  /** The events being handled, outermost first. */
  chain: readonly string[];
}

const storage = new AsyncLocalStorage<Running>();

export function runAs<T>(owner: string, work: () => T, event?: string, chain = running()?.chain ?? []): T {
  return storage.run({ owner, chain: event ? [...chain, event] : chain }, work);
}

/** The owner on whose behalf the current code runs; undefined for the kernel itself. */
export function running(): Running | undefined {
  return storage.getStore();
}

const LATER =
  /\b(?:async|await|Promise|then|set(?:Timeout|Interval|Immediate)|queueMicrotask|nextTick|process|global(?:This)?|fetch|[A-Z]\w*(?:Channel|Socket|Signal|Worker|Stream|Registry)|WebAssembly|crypto|import|require|eval|Function|constructor|arguments)\b|\.{3}/;

/** False for the text of a module that has no word for leaving anything behind: there is nothing to trace to it later. */
export function mayRunLater(module: string): boolean {
  return LATER.test(module.slice(module.indexOf("{")));
}
