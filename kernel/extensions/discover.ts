/** Finds plugins and hooks on the file system. A root of a higher rank wins over a lower one. */
import { readdirSync, realpathSync, statSync } from "node:fs";
import { basename, join, sep } from "node:path";

export interface Root {
  /** `bundled`, `extra`, `managed`, `workspace`. */
  name: string;
  dir: string;
  /** Higher replaces lower. */
  rank: number;
}

export interface Found {
  /** The directory's own name. */
  name: string;
  /** As it stands below its root; `realDir` has links resolved. */
  dir: string;
  realDir: string;
  /** The file that makes the directory an extension. */
  entry: string;
  root: Root;
  /** Why it must not be loaded. */
  refused?: string;
}

/** `<name>.ts` and the other endings that a handler or plugin may have, in order of preference. */
export function sourceNames(...stems: string[]): string[] {
  return stems.flatMap((stem) => [".ts", ".mts", ".js", ".mjs", ".cjs"].map((ending) => stem + ending));
}

/** All extensions below the roots, by root (lowest rank first), then by name. A missing root is empty. */
export function discover(roots: readonly Root[], entryNames: readonly string[]): Found[] {
  return [...roots].sort((a, b) => a.rank - b.rank).flatMap((root) => discoverRoot(root, entryNames));
}

function discoverRoot(root: Root, entryNames: readonly string[]): Found[] {
  let names: string[];
  try {
    names = readdirSync(root.dir).sort();
  } catch {
    return [];
  }
  const found: Found[] = [];
  for (const name of names) {
    if (name.startsWith(".") || name === "node_modules") continue;
    const dir = join(root.dir, name);
    try {
      const realDir = realpathSync(dir);
      if (!statSync(realDir).isDirectory()) continue;
      const files = new Set(readdirSync(realDir));
      const entryName = entryNames.find((candidate) => files.has(candidate));
      if (!entryName) continue;
      const entry = join(realDir, entryName);
      found.push({ name: basename(dir), dir, realDir, entry, root, refused: whyUnsafe(realDir, entry, root) });
    } catch {
      // It vanished while we looked: the next scan sees what is there.
    }
  }
  return found;
}

/** The bundled extensions are as safe as the package itself; of others nobody else may write the files. */
export function whyUnsafe(realDir: string, entry: string, root: Root): string | undefined {
  if (root.name === "bundled") return undefined;
  const realRoot = realpathSync(root.dir);
  if (!isInside(realDir, realRoot)) return "its real path leaves its root: copy it there instead of linking to it";
  if (!isInside(realpathSync(entry), realDir)) return `the real path of ${basename(entry)} leaves its directory`;
  for (const path of [realDir, entry]) {
    const { mode, uid } = statSync(path);
    if (mode & 0o022) return `others may write ${basename(path)}: run chmod go-w on it`;
    const own = process.getuid?.();
    if (own !== undefined && own !== 0 && uid !== own && uid !== 0) return `${basename(path)} belongs to another user`;
  }
  return undefined;
}

export function isInside(path: string, dir: string): boolean {
  return path === dir || path.startsWith(dir.endsWith(sep) ? dir : dir + sep);
}
