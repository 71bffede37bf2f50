/**
 * Watches the roots of hooks and plugins: each directory there, and the nearest one above a root. What the operating
 * system tells is only a hint that something may have changed: the caller rescans and compares contents, and a rescan
 * comes every 30 s in any case. (One watch for a directory is a fifth of what chokidar takes, which in turn misses a
 * root that comes back and a link that is pointed elsewhere.)
 */
import { existsSync, type FSWatcher, readdirSync, statSync, watch } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import type { Logger } from "../types.ts";

export interface WatchOptions {
  roots: readonly string[];
  /** Called with the root's own entries (`<root>/<name>`) that may have changed; empty: any of them, rescan all. */
  onDirty(dirs: readonly string[]): void;
  log: Logger;
  /** Changes are told after this much quiet; default 20 ms. */
  quietMs?: number;
  /** … but no later than this after the first of them; default 500 ms. */
  capMs?: number;
  /** Rescan without any hint; default 30 s. */
  rescanMs?: number;
}

interface Watched {
  /** Tells a directory from another one under its name. */
  identity: string;
  watcher: FSWatcher;
}

/** Directories that are watched for the same reason, by their path. */
type Group = Map<string, Watched>;
type Heard = (dir: string, name: string | null) => void;

/** Below a root's entry; what lies deeper is seen by the regular rescan. */
const maxDepth = 6;

/** Watches at once; a root may be missing, vanish and come back. */
export function watchRoots(options: WatchOptions): { close(): void } {
  const { roots, onDirty, log, quietMs = 20, capMs = 500, rescanMs = 30_000 } = options;
  /** By the root, or the root's entry. */
  const groups = new Map<string, Group>();
  /** `undefined` stands for everything. */
  let dirty: Set<string> | undefined = new Set();
  let since = 0;
  let timer: NodeJS.Timeout | undefined;

  function add(entry: string | undefined): void {
    if (entry === undefined) dirty = undefined;
    else dirty?.add(entry);
    const now = Date.now();
    if (!timer) since = now;
    clearTimeout(timer);
    timer = setTimeout(tell, Math.max(0, Math.min(quietMs, since + capMs - now))).unref();
  }

  /** First the watches, then the look at the disk: what changes in between is seen by one or the other. */
  function tell(): void {
    timer = undefined;
    const told = dirty;
    dirty = new Set();
    if (told === undefined) roots.forEach(watchRoot);
    else for (const entry of told) watchEntry(entry);
    onDirty([...(told ?? [])]);
  }

  /** The root, and where it is to be found: seen from above, it may come, go, and be replaced. */
  function watchRoot(root: string): void {
    const above = nearestExisting(dirname(root));
    const step = relative(above, root).split(sep)[0];
    watchGroup(root, [above, root], (dir, name) => {
      if (dir === root) add(name === null ? undefined : join(root, name));
      else if (name === null || name === step) add(undefined);
    });
    // It may have appeared between looking and watching.
    if (nearestExisting(dirname(root)) !== above) add(undefined);
    const entries = namesIn(root).map((name) => join(root, name));
    for (const entry of groups.keys()) if (dirname(entry) === root && !entries.includes(entry)) watchEntry(entry);
    entries.forEach(watchEntry);
  }

  function watchEntry(entry: string): void {
    watchGroup(entry, directoriesBelow(entry), () => add(entry));
  }

  /** Watches these directories, and for this reason no others. One that was exchanged is watched anew. */
  function watchGroup(reason: string, dirs: Iterable<string>, heard: Heard): void {
    const before = groups.get(reason) ?? new Map<string, Watched>();
    const now: Group = new Map();
    for (const dir of dirs) {
      const identity = identityOf(dir);
      if (identity === undefined) continue;
      const old = before.get(dir);
      if (old?.identity === identity) before.delete(dir);
      const watcher = old?.identity === identity ? old.watcher : open(dir, now, heard);
      if (watcher) now.set(dir, { identity, watcher });
    }
    for (const { watcher } of before.values()) watcher.close();
    if (now.size) groups.set(reason, now);
    else groups.delete(reason);
  }

  function open(dir: string, group: Group, heard: Heard): FSWatcher | undefined {
    const end = () => {
      group.get(dir)?.watcher.close();
      group.delete(dir);
    };
    try {
      // Never what keeps the process running.
      const watcher = watch(dir, { persistent: false }, (_, name) => {
        // It may speak of itself: then it has gone, and another one may stand in its place.
        if (name === basename(dir)) end();
        heard(dir, name);
      });
      return watcher.on("error", end);
    } catch (error) {
      log.warn({ dir, err: error }, "a directory cannot be watched; the regular rescan goes on");
      return undefined;
    }
  }

  const regular = setInterval(() => add(undefined), rescanMs).unref();
  roots.forEach(watchRoot);
  // Whatever changed before the watches stood.
  add(undefined);
  return {
    close() {
      clearInterval(regular);
      clearTimeout(timer);
      for (const group of groups.values()) for (const { watcher } of group.values()) watcher.close();
    },
  };
}

/**
 * A directory, be it behind a link, and those in it: read only when the one above has been taken, so that what appears
 * is seen by its watch. What is linked twice comes once, as does a circle.
 */
function* directoriesBelow(dir: string, depth = 0, seen = new Set<string>()): Generator<string> {
  const identity = identityOf(dir);
  if (identity === undefined || seen.has(identity)) return;
  seen.add(identity);
  yield dir;
  if (depth < maxDepth) for (const name of namesIn(dir)) yield* directoriesBelow(join(dir, name), depth + 1, seen);
}

/** What may be a directory there. */
function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir, { withFileTypes: true })
      .filter((entry) => !entry.isFile() && entry.name !== "node_modules" && entry.name !== ".git")
      .map(({ name }) => name);
  } catch {
    return [];
  }
}

/** Undefined for what is no directory. */
function identityOf(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stat?.isDirectory() ? `${stat.dev}:${stat.ino}` : undefined;
}

function nearestExisting(dir: string): string {
  let existing = dir;
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing);
  return existing;
}
