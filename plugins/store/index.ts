/** `portico/store`: the durable store's interface and its records, and `ctx.kv` of hooks. */
import type { Store } from "./types.ts";

export type * from "./types.ts";

declare module "portico" {
  interface Services {
    store: Store;
  }
  interface HookContext {
    readonly kv: HookKv;
  }
}

/** The small durable store of one hook. Values are anything that JSON can hold. */
export interface HookKv {
  get<T = unknown>(key: string): Promise<T | undefined>;
  set(key: string, value: unknown): Promise<void>;
  delete(key: string): Promise<boolean>;
  list(prefix?: string): Promise<string[]>;
}
