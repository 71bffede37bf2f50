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
  /** Name → the id that has been looked at in this process, and the looking. */
  const settled = new Map<string, { keyId: string; looking: Promise<void> | undefined }>();

  async function look(name: string, keyId: string): Promise<void> {
    const { kv } = ctx.use("store");
    const last = await kv.get<string>(NAMESPACE, name);
    if (last === keyId) return;
    if (last !== undefined) await forget(name);
    await kv.set(NAMESPACE, name, keyId);
  }

  async function forget(name: string): Promise<void> {
    const { sessions } = ctx.use("store");
    const prefix = keySession(name, "");
    let gone = 0;
    for (;;) {
      const left = await sessions.list({ prefix });
      if (left.length === 0) break;
      for (const { id } of left) {
        await sessions.delete(id);
        gone++;
        if (ctx.declared("session:deleted"))
          void ctx.emit(
            "session:deleted",
            { sessionId: id },
            { sessionKey: id, principal: "owner" },
          );
      }
    }
    if (ctx.declared("principal:forgotten")) {
      const principal = principalNamed("key", name);
      await ctx.emit("principal:forgotten", { principal }, { principal: "owner" });
    }
    if (gone > 0)
      ctx.log.info(
        { key: name, sessions: gone },
        "the sessions of a key's last holder were forgotten",
      );
  }

  return {
    settle(name, keyId) {
      const known = settled.get(name);
      if (known?.keyId === keyId) return known.looking;
      const entry = { keyId, looking: undefined as Promise<void> | undefined };
      settled.set(name, entry);
      entry.looking = look(name, keyId).then(
        () => void (entry.looking = undefined),
        (error: unknown) => {
          if (settled.get(name) === entry) settled.delete(name);
          throw error;
        },
      );
      return entry.looking;
    },
    forget,
  };
}
