/** Finds plugins and hooks on the file system. A root of a higher rank wins over a lower one. */
import { readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { listNames } from "../../files/listing.ts";
import type { Root } from "./roots.ts";
import { findSafetyProblem } from "./safety.ts";

export interface ExtensionDirectory {
  /** The directory's own name. */
  name: string;
  /** The path below the root; `realDir` has links resolved. */
  dir: string;
  realDir: string;
  /** The file that makes the directory an extension. */
  entry: string;
  root: Root;
  /** The reason why the extension must not be loaded. */
  refused?: string;
}

/** Returns `<stem>.ts` and the other names that a handler or plugin may have, in order of preference. */
export function listSourceNames(...stems: string[]): string[] {
  return stems.flatMap((stem) =>
    [".ts", ".mts", ".js", ".mjs", ".cjs"].map((extension) => stem + extension),
  );
}

/**
 * Finds all extensions below the roots, or those in directories of one name, by root (lowest rank first), then by name.
 * A missing root counts as empty.
 */
export const discover = (
  roots: readonly Root[],
  entryNames: readonly string[],
  only?: string,
): ExtensionDirectory[] =>
  [...roots]
    .sort((a, b) => a.rank - b.rank)
    .flatMap((root) => discoverRoot(root, entryNames, only));

function discoverRoot(
  root: Root,
  entryNames: readonly string[],
  only: string | undefined,
): ExtensionDirectory[] {
  const directories: ExtensionDirectory[] = [];
  for (const name of listNames(root.dir)) {
    if (name.startsWith(".") || name === "node_modules" || (only !== undefined && name !== only))
      continue;
    const dir = join(root.dir, name);
    try {
      const realDir = realpathSync.native(dir);
      const files = new Set(readdirSync(realDir));
      const entryName = entryNames.find((candidate) => files.has(candidate));
      if (!entryName) continue;
      const entry = join(realDir, entryName);
      directories.push({
        name,
        dir,
        realDir,
        entry,
        root,
        refused: root.untrusted ?? findSafetyProblem(realDir, entry, root),
      });
    } catch {
      // This is no directory, or it vanished meanwhile; the next scan will notice.
    }
  }
  return directories;
}
