/** Tracks who changes the configuration, and from where. This is stored with every version of the file. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { ChangeOrigin, ConfigDifference } from "../contract/changes.ts";

interface OngoingChange {
  origin: ChangeOrigin;
  /** The changes to the configuration so far. */
  differences: ConfigDifference[];
}

const storage = new AsyncLocalStorage<OngoingChange>();
const GATEWAY: ChangeOrigin = { principal: "owner", via: "gateway" };
export const FILE_ORIGIN: ChangeOrigin = { principal: "owner", via: "file" };

/**
 * Attributes every change that `work` makes, at any depth, to `origin`. `work` receives a list that fills with its
 * changes to the configuration.
 */
export function changeAs<T>(
  origin: ChangeOrigin,
  work: (differences: readonly ConfigDifference[]) => T,
): T {
  const differences: ConfigDifference[] = [];
  return storage.run({ origin, differences }, () => work(differences));
}

/** Returns the origin of the current change; the gateway itself if no request caused it. */
export const currentOrigin = (): ChangeOrigin => storage.getStore()?.origin ?? GATEWAY;

/** Adds to the list of the current change's differences. */
export function noteDifferences(differences: readonly ConfigDifference[]): void {
  storage.getStore()?.differences.push(...differences);
}
