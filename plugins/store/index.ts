/**
 * `portico/store`: the durable store's interface and its records, their ids in short, and `ctx.kv` of hooks.
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
    /** What this hook keeps over restarts. */
    readonly kv: HookKv;
  }
}

/** The small durable store of one hook: its keys are its own. Values are anything that JSON can hold. */
export interface HookKv {
  /** `undefined` for a key that was never set. */
  get<T = unknown>(key: string): Promise<T | undefined>;
  set(key: string, value: unknown): Promise<void>;
  /** False where there was none. */
  delete(key: string): Promise<boolean>;
  /** Keys in order. */
  list(prefix?: string): Promise<string[]>;
}
