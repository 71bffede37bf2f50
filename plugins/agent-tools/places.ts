/** Where the files of a call lie: the agent's workspace, or the own directory of a sandboxed or a client's session. */
import { createHash } from "node:crypto";
import { mkdir, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { absolutePath, type PluginContext, type ToolCall } from "portico";

export interface Place {
  root: string;
  /** Absolute paths that no tool reads or writes: what the gateway runs, and what it keeps to itself. */
  barred: readonly string[];
}

export interface Places {
  of(call: ToolCall): Promise<Place>;
}

interface PlacesOptions {
  isSandboxed(): boolean;
  /** `hooks.extraDirs`, as they are written. */
  hookDirs(): readonly string[];
}

export function createPlaces(ctx: PluginContext, { isSandboxed, hookDirs }: PlacesOptions): Places {
  const { home, workspace, state, config } = ctx.paths;
  const sandboxes = join(state, "sandboxes");
  // a session's name may hold anything: its digest is a name for a directory
  const sandboxOf = (session: string) =>
    join(sandboxes, createHash("sha256").update(session).digest("hex"));
  ctx.on("session:deleted", ({ context }) =>
    rm(sandboxOf(context.sessionId), { recursive: true, force: true }),
  );

  return {
    async of(call) {
      if (isSandboxed() || isClients(call.sessionKey)) {
        const root = sandboxOf(call.sessionKey);
        await mkdir(root, { recursive: true, mode: 0o700 });
        return { root, barred: [] };
      }
      const root = call.workspace ?? workspace;
      await mkdir(root, { recursive: true, mode: 0o700 });
      const own = [".env", "state", "hooks", "plugins", "transforms"].map((name) =>
        join(home, name),
      );
      const code = [root, workspace].flatMap((dir) => [join(dir, "hooks"), join(dir, "plugins")]);
      const more = hookDirs().map((dir) =>
        resolve(home, dir.startsWith("~") ? absolutePath(dir) : dir),
      );
      return { root, barred: [...code, ...own, config, ...more] };
    },
  };
}

/** A client key's own: what it writes is never told to the owner's turns, and what the owner keeps not to it. */
function isClients(session: string): boolean {
  return session.startsWith("key:");
}
