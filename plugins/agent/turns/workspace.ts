/** The files that go into the system prompt. */
import { existsSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import type { BootstrapFile } from "portico/agent";
import type { Access } from "../access/access.ts";

const MEMORY = "MEMORY.md";
const NAMES = ["AGENTS.md", "SOUL.md", "USER.md", "TOOLS.md", MEMORY];
/** More of a file than this is never read. */
const MOST_BYTES = 256 * 1024;

/**
 * All five, in order; one that is not there, cannot be read, or is not the principal's to see is `missing`. A principal
 * other than the owner has a `MEMORY.md` of its own: what strangers had it remember, so it is marked as from outside.
 */
export function bootstrapFiles(
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

/** The beginning of a text file; `undefined` where there is none. */
export async function readText(path: string): Promise<string | undefined> {
  // mostly it is not there: to open it would wake another thread for that, five times a turn
  if (!existsSync(path)) return undefined;
  try {
    const file = await open(path, "r");
    try {
      const { bytesRead, buffer } = await file.read(
        Buffer.allocUnsafe(MOST_BYTES),
        0,
        MOST_BYTES,
        0,
      );
      return buffer.toString("utf8", 0, bytesRead);
    } finally {
      await file.close();
    }
  } catch {
    return undefined;
  }
}
