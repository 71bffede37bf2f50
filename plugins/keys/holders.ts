/** Who holds a key's name: what the last holder's sessions say is forgotten before the next one comes to them. */
import { type PluginContext, principalNamed } from "portico";
import type {} from "portico/agent";
import { keySession } from "portico/models";

const NAMESPACE = "keys.holders";

export interface Holders {
  /**
   * Before a key is let in. A name whose hash is another one than when it was last used, however that came about, has
   * another holder. Rejects where the store cannot be read: nobody is let in to what may not be theirs.
   */
  settle(name: string, keyId: string): Promise<void> | undefined;
  /** Deletes the sessions of a key. */
  forget(name: string): Promise<void>;
}

export function createHolders(ctx: PluginContext): Holders {
  return new StoredHolders(ctx);
}

/** A key whose holder is known, or being looked up. */
interface SettledKey {
  keyId: string;
  lookup: Promise<void> | undefined;
}

class StoredHolders implements Holders {
  readonly #ctx: PluginContext;
  /** By name: what this process has looked up. */
  readonly #settled = new Map<string, SettledKey>();

  constructor(ctx: PluginContext) {
    this.#ctx = ctx;
  }

  settle(name: string, keyId: string): Promise<void> | undefined {
    const known = this.#settled.get(name);
    if (known?.keyId === keyId) return known.lookup;
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
      ctx.log.info({ key: name, sessions }, "The sessions of a key's last holder were deleted.");
  }

  /** Returns how many there were. */
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
