/**
 * Finds the directory for the files of a call: the agent's workspace, or the directory of a sandboxed session or a
 * principal.
 */
import { createHash } from "node:crypto";
import { mkdir, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { absolutePath, type PluginContext, type ToolCall } from "portico";
import { ownDirectory } from "portico/agent";

export interface Place {
  root: string;
  /** Absolute paths that no tool may read or write: code that the gateway runs, and its private files. */
  forbiddenPaths: readonly string[];
}

export interface Places {
  of(call: ToolCall): Promise<Place>;
}

interface PlacesOptions {
  isSandboxed(): boolean;
  /** Returns `hooks.extraDirs` as the configuration writes them. */
  hookDirs(): readonly string[];
}

export function createPlaces(ctx: PluginContext, { isSandboxed, hookDirs }: PlacesOptions): Places {
  const { home, workspace, state, config } = ctx.paths;
  const sandboxes = join(state, "sandboxes");
  // A session's name may contain any characters, so the directory is named by its digest.
  const sandboxOf = (session: string) =>
    join(sandboxes, createHash("sha256").update(session).digest("hex"));
  const remove = (directory: string) => rm(directory, { recursive: true, force: true });
  ctx.on("session:deleted", ({ context }) => remove(sandboxOf(context.sessionId)));
  ctx.on("principal:forgotten", ({ context }) => remove(ownDirectory(state, context.principal)));

  /** Returns the directory of a call that may not see the workspace; undefined for others. */
  function findSeparateDirectory({ sessionKey, access }: ToolCall): string | undefined {
    if (!isSandboxed()) return access.ownDirectory;
    // The owner and another principal may both have turns in one session.
    if (access.ownDirectory === undefined) return sandboxOf(sessionKey);
    return join(access.ownDirectory, createHash("sha256").update(sessionKey).digest("hex"));
  }

  return {
    async of(call) {
      const directory = findSeparateDirectory(call);
      if (directory !== undefined) {
        await mkdir(directory, { recursive: true, mode: 0o700 });
        return { root: directory, forbiddenPaths: [] };
      }
      const root = call.workspace ?? workspace;
      await mkdir(root, { recursive: true, mode: 0o700 });
      const gatewayPaths = [".env", "state", "hooks", "plugins", "transforms"].map((name) =>
        join(home, name),
      );
      const codePaths = [root, workspace].flatMap((dir) => [
        join(dir, "hooks"),
        join(dir, "plugins"),
      ]);
      const extraHookPaths = hookDirs().map((dir) =>
        resolve(home, dir.startsWith("~") ? absolutePath(dir) : dir),
      );
      return { root, forbiddenPaths: [...codePaths, ...gatewayPaths, config, ...extraHookPaths] };
    },
  };
}
