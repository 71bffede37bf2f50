/** Creates `ctx.kv` of a hook, whose keys have a namespace of their own. */
import type { HookKv } from "./index.ts";
import type { Store } from "./types.ts";

export function createHookKv(store: Store, hook: string): HookKv {
  const namespace = `hook:${hook}`;
  return {
    get: async (key) => store.kv.get(namespace, key),
    set: async (key, value) => store.kv.set(namespace, key, value),
    delete: async (key) => store.kv.delete(namespace, key),
    list: async (prefix) => store.kv.list(namespace, prefix),
  };
}
