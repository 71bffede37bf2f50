/** Tracks who holds the name of a key, and deletes the sessions of the last holder before another one can use them. */
import { type PluginContext, principalNamed } from "portico";
import type {} from "portico/agent";
import { keySession } from "portico/models";

const NAMESPACE = "keys.holders";

export interface Holders {
  /**
   * Deletes the sessions of the last holder if the id of the key differs from the one that used the name last. Call it before
   * each request of a key. Rejects if the store cannot be read, so that nobody reads another holder's sessions.
   */
  settle(name: string, keyId: string): Promise<void> | undefined;
  /** Deletes the sessions of a key. */
  forget(name: string): Promise<void>;
}

export function createHolders(ctx: PluginContext): Holders {
  return new StoredHolders(ctx);
}

/** A key whose holder is checked, or is being checked. */
interface SettledKey {
  keyId: string;
  lookup: Promise<void> | undefined;
}

class StoredHolders implements Holders {
  readonly #ctx: PluginContext;
  /** The keys that this process has checked, by name. */
  readonly #settled = new Map<string, SettledKey>();

  constructor(ctx: PluginContext) {
    this.#ctx = ctx;
  }

  settle(name: string, keyId: string): Promise<void> | undefined {
    const settled = this.#settled.get(name);
    if (settled?.keyId === keyId) return settled.lookup;
    const entry: SettledKey = { keyId, lookup: undefined };
    this.#settled.set(name, entry);
    entry.lookup = this.#lookUp(name, entry);
    return entry.lookup;
  }

  async #lookUp(name: string, entry: SettledKey): Promise<void> {
    try {
      const { kv } = this.#ctx.use("store");
      const last = await kv.get<string>(NAMESPACE, name);
      if (last !== entry.keyId) {
        if (last !== undefined) await this.forget(name);
        await kv.set(NAMESPACE, name, entry.keyId);
      }
      entry.lookup = undefined;
    } catch (error) {
      if (this.#settled.get(name) === entry) this.#settled.delete(name);
      throw error;
    }
  }

  async forget(name: string): Promise<void> {
    const ctx = this.#ctx;
    const sessions = await this.#deleteSessions(keySession(name, ""));
    if (ctx.declared("principal:forgotten")) {
      const principal = principalNamed("key", name);
      await ctx.emit("principal:forgotten", { principal }, { principal: "owner" });
    }
    if (sessions > 0)
      ctx.log.info(
        { key: name, sessions },
        "The sessions of a key's previous holder were deleted.",
      );
  }

  /** Deletes all sessions with a prefix. Returns their number. */
  async #deleteSessions(prefix: string): Promise<number> {
    const { sessions } = this.#ctx.use("store");
    let count = 0;
    for (let page = await sessions.list({ prefix }); page.length > 0; ) {
      for (const { id } of page) await this.#deleteSession(id);
      count += page.length;
      page = await sessions.list({ prefix });
    }
    return count;
  }

  async #deleteSession(id: string): Promise<void> {
    const ctx = this.#ctx;
    await ctx.use("store").sessions.delete(id);
    if (!ctx.declared("session:deleted")) return;
    const about = { sessionKey: id, principal: "owner" } as const;
    void ctx.emit("session:deleted", { sessionId: id }, about);
  }
}
