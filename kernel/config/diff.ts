import { isDeepStrictEqual } from "node:util";
import { formatKeyPath, isRecord, type KeyPath, valueAt } from "../text/key-path.ts";

/** Returns the keys whose values differ, as deep as both sides are objects: `["gateway.port", "channels.main"]`. */
export function findChangedKeys(previous: unknown, next: unknown, at: KeyPath = []): string[] {
  if (!isRecord(previous) || !isRecord(next))
    return isDeepStrictEqual(previous, next) ? [] : [formatKeyPath(at)];
  const keys = new Set([...Object.keys(previous), ...Object.keys(next)]);
  return [...keys].flatMap((key) =>
    findChangedKeys(valueAt(previous, [key]), valueAt(next, [key]), [...at, key]),
  );
}

/** Freezes a value and all nested values. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const item of Object.values(value)) deepFreeze(item);
  }
  return value;
}

/** A change to a valid configuration. */
export interface ConfigChange {
  /** The keys that differ, as deep as both sides are objects: `gateway.port`, `channels.main` for a new channel. */
  keys: string[];
  next: Readonly<Record<string, unknown>>;
  previous: Readonly<Record<string, unknown>>;
  /** True after a plugin refused the change: the plugins that applied it restore the previous values. */
  back: boolean;
}

export type OnChange = (change: ConfigChange) => Promise<void>;
