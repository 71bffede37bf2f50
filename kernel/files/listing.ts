/** What lies in directories; one that is not there is empty. */
import { type Dirent, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir).sort();
  } catch {
    return [];
  }
}

/** The files and links below a directory, by their paths from there. What bears one of the names is left out. */
export function filesBelow(dir: string, ...leftOut: string[]): { path: string; entry: Dirent }[] {
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const { name: path } = entry;
    if (leftOut.includes(path)) return [];
    if (!entry.isDirectory()) return { path, entry };
    return filesBelow(join(dir, path), ...leftOut).map((one) => ({
      ...one,
      path: join(path, one.path),
    }));
  });
}

/** What a JSON file holds; undefined where there is none, or a torn one. */
export function readJson<T>(file: string): T | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}
