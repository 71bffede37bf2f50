/** Walks through the entries below a directory, in order, without forbidden ones. Does not follow links. */
import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type ResolvedPlace, isForbidden } from "./confine.ts";

export interface WalkEntry {
  path: string;
  kind: "file" | "directory" | "other";
}

interface WalkOptions {
  /** The number of levels; 1 means the direct entries only. */
  depth: number;
  signal: AbortSignal;
}

function kindOf(entry: Dirent): WalkEntry["kind"] {
  if (entry.isFile()) return "file";
  return entry.isDirectory() ? "directory" : "other";
}

export async function* walk(
  dir: string,
  resolved: ResolvedPlace,
  { depth, signal }: WalkOptions,
): AsyncGenerator<WalkEntry> {
  signal.throwIfAborted();
  const entries = await readdir(dir, { withFileTypes: true }).catch(() => []);
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const path = join(dir, entry.name);
    if (entry.name === ".git" || isForbidden(path, resolved)) continue;
    const kind = kindOf(entry);
    yield { path, kind };
    if (kind === "directory" && depth > 1)
      yield* walk(path, resolved, { depth: depth - 1, signal });
  }
}
