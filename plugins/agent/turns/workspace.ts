/** Reads the workspace files for the system prompt. */
import { existsSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import type { BootstrapFile } from "portico/agent";
import type { Access } from "../access/access.ts";

const MEMORY = "MEMORY.md";
const NAMES = ["AGENTS.md", "SOUL.md", "USER.md", "TOOLS.md", MEMORY];
/** At most this many bytes of a file are read. */
const MAX_BYTES = 256 * 1024;

/**
 * Returns all five files, in order. A file that does not exist, cannot be read, or is not visible to the principal is
 * `missing`. A principal other than the owner has a separate `MEMORY.md`, which is marked as from outside because
 * outsiders caused its content.
 */
export function readBootstrapFiles(
  workspace: string,
  { workspaceFiles, ownDirectory }: Pick<Access, "workspaceFiles" | "ownDirectory">,
): Promise<BootstrapFile[]> {
  return Promise.all(
    NAMES.map(async (name): Promise<BootstrapFile> => {
      const isShared = workspaceFiles.includes(name);
      const isOwn = !isShared && ownDirectory !== undefined && name === MEMORY;
      const path = join(isShared ? workspace : (ownDirectory ?? workspace), name);
      const content = isShared || isOwn ? await readText(path) : undefined;
      const file = { name, path, content: content ?? "", missing: content === undefined };
      return isOwn ? { ...file, fromOutside: true } : file;
    }),
  );
}

/** Returns the beginning of a text file; undefined if it cannot be read. */
export async function readText(path: string): Promise<string | undefined> {
  // Most files do not exist. An asynchronous open would involve the thread pool only to find that out, five times per
  // turn.
  if (!existsSync(path)) return undefined;
  try {
    const file = await open(path, "r");
    try {
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(MAX_BYTES), 0, MAX_BYTES, 0);
      return buffer.toString("utf8", 0, bytesRead);
    } finally {
      await file.close();
    }
  } catch {
    return undefined;
  }
}
