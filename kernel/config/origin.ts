/** Who changes the configuration, and from where: kept with every version of the file. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { ChangeOrigin, ConfigDifference } from "../contract/changes.ts";

interface OngoingChange {
  origin: ChangeOrigin;
  /** What it has changed in the configuration so far. */
  differences: ConfigDifference[];
}

const storage = new AsyncLocalStorage<OngoingChange>();
const GATEWAY: ChangeOrigin = { principal: "owner", via: "gateway" };
export const FILE_ORIGIN: ChangeOrigin = { principal: "owner", via: "file" };

/**
 * Attributes every change that `work` makes, however deep below, to `origin`. The list that `work` gets fills with what
 * it changes in the configuration.
 */
export function changeAs<T>(
  origin: ChangeOrigin,
  work: (differences: readonly ConfigDifference[]) => T,
): T {
  const differences: ConfigDifference[] = [];
  return storage.run({ origin, differences }, () => work(differences));
}

/** The origin of the current change; the gateway itself if no request asked for it. */
export const currentOrigin = (): ChangeOrigin => storage.getStore()?.origin ?? GATEWAY;

/** Adds to what the current change has done to the configuration. */
export function noteDifferences(differences: readonly ConfigDifference[]): void {
  storage.getStore()?.differences.push(...differences);
}
