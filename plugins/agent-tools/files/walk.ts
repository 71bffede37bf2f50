/** Lists the entries below a directory of the workspace, in order, without those that the agent may not see. Does not follow links. */
import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type Ground, isBarred } from "./confine.ts";

export interface Found {
  path: string;
  kind: "file" | "directory" | "other";
}

interface WalkOptions {
  /** 1: only its direct entries. */
  depth: number;
  signal: AbortSignal;
}

function kindOf(entry: Dirent): Found["kind"] {
  if (entry.isFile()) return "file";
  return entry.isDirectory() ? "directory" : "other";
}

export async function* walk(
  dir: string,
  ground: Ground,
  { depth, signal }: WalkOptions,
): AsyncGenerator<Found> {
  signal.throwIfAborted();
  const entries = await readdir(dir, { withFileTypes: true }).catch(() => []);
  entries.sort((one, other) => (one.name < other.name ? -1 : 1));
  for (const entry of entries) {
    const path = join(dir, entry.name);
    if (entry.name === ".git" || isBarred(path, ground)) continue;
    const kind = kindOf(entry);
    yield { path, kind };
    if (kind === "directory" && depth > 1) yield* walk(path, ground, { depth: depth - 1, signal });
  }
}
