/**
 * `portico/store`: the interface of the durable store, its records, their shortened ids, and `ctx.kv` of hooks.
 *
 * @example
 * definePlugin({ name: "mine", needs: ["store"], async setup(ctx) { await ctx.use("store").kv.set("mine", "seen", 1); } });
 */
import type { Store } from "./types.ts";

export { byShortId, shortIds } from "./records/short-ids.ts";
export { addTimes, emptyTimes, TIME_BOUNDS_MS, timeBucket } from "./records/usage-times.ts";
export type * from "./types.ts";

declare module "portico" {
  interface Services {
    store: Store;
  }
  interface HookContext {
    /** The values that this hook keeps over restarts. */
    readonly kv: HookKv;
  }
}

/** The small durable store of one hook, with keys of its own. Values are anything that JSON can hold. */
export interface HookKv {
  /** Returns `undefined` for a key that has no value. */
  get<T = unknown>(key: string): Promise<T | undefined>;
  set(key: string, value: unknown): Promise<void>;
  /** Returns false if the key had no value. */
  delete(key: string): Promise<boolean>;
  /** Lists the keys in order. */
  list(prefix?: string): Promise<string[]>;
}
