/** The directory of a call's files: the agent's workspace, a sandboxed session's directory, or that of the principal. */
import { createHash } from "node:crypto";
import { mkdir, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { absolutePath, type PluginContext, type ToolCall } from "portico";
import { ownDirectory } from "portico/agent";

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
  const remove = (directory: string) => rm(directory, { recursive: true, force: true });
  ctx.on("session:deleted", ({ context }) => remove(sandboxOf(context.sessionId)));
  ctx.on("principal:forgotten", ({ context }) => remove(ownDirectory(state, context.principal)));

  /** The directory of a session that may not see the workspace. */
  function separateDirectory({ sessionKey, access }: ToolCall): string | undefined {
    if (!isSandboxed()) return access.ownDirectory;
    // the owner and a sender may both have turns in a session
    if (access.ownDirectory === undefined) return sandboxOf(sessionKey);
    return join(access.ownDirectory, createHash("sha256").update(sessionKey).digest("hex"));
  }

  return {
    async of(call) {
      const separate = separateDirectory(call);
      if (separate !== undefined) {
        await mkdir(separate, { recursive: true, mode: 0o700 });
        return { root: separate, barred: [] };
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
