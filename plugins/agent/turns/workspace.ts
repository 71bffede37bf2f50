/** The workspace's files that the model is told. */
import { existsSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import type { BootstrapFile } from "portico/agent";

const NAMES = ["AGENTS.md", "SOUL.md", "USER.md", "TOOLS.md", "MEMORY.md"];
/** More of a file than this is never read. */
const MOST_BYTES = 256 * 1024;

/** All five, in order; one that is not there (or cannot be read) is `missing`. */
export function bootstrapFiles(workspace: string): Promise<BootstrapFile[]> {
  return Promise.all(
    NAMES.map(async (name) => {
      const path = join(workspace, name);
      const content = await readText(path);
      return { name, path, content: content ?? "", missing: content === undefined };
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
