/** Lists directories and reads files in them. A missing directory is empty. */
import { type Dirent, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export function listNames(dir: string): string[] {
  try {
    return readdirSync(dir).sort();
  } catch {
    return [];
  }
}

/**
 * Lists the files and links below a directory, with paths relative to it. Skips entries with one of the names
 * `excludedNames`.
 */
export function listFilesBelow(
  dir: string,
  ...excludedNames: string[]
): { path: string; entry: Dirent }[] {
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const { name: path } = entry;
    if (excludedNames.includes(path)) return [];
    if (!entry.isDirectory()) return { path, entry };
    return listFilesBelow(join(dir, path), ...excludedNames).map((file) => ({
      ...file,
      path: join(path, file.path),
    }));
  });
}

/** Reads a JSON file. Returns undefined if it is missing or incomplete. */
export function readJson<T>(file: string): T | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}
