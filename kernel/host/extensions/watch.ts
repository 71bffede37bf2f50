/**
 * Watches the roots of hooks and plugins. A report of the operating system is only a hint that something may have
 * changed: the caller rescans and compares contents, and a rescan comes every 30 s in any case.
 * The only importer of chokidar, which is loaded after the start because nobody needs it before.
 */
import { existsSync, type FSWatcher, statSync, watch } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import { namesIn } from "../../files/listing.ts";
import type { Logger } from "../../contract/index.ts";

export interface WatchOptions {
  roots: readonly string[];
  /** Called with the root's own entries (`<root>/<name>`) that may have changed; empty: any of them, rescan all. */
  onDirty(dirs: readonly string[]): void;
  /** Called at the first of them, before it is quiet; not where any may have changed. */
  onStir?(dirs: readonly string[]): void;
  log: Logger;
  /** Changes are reported after this much quiet; default 20 ms. */
  quietMs?: number;
  /** … but no later than this after the first of them; default 500 ms. */
  capMs?: number;
  /** Rescan without any hint; default 30 s. */
  rescanMs?: number;
  /** `ready` waits no longer for a root; default 5 s. */
  readyMs?: number;
}

export type Watch = ReturnType<typeof watchRoots>;

/** `undefined` stands for any entry. A repeated report (`again`) does not prolong the wait for quiet. */
type Add = (entry: string | undefined, again?: boolean) => void;

/** Starts at once and in the background; a root may be missing, vanish and come back. */
export function watchRoots(options: WatchOptions) {
  const {
    onDirty,
    onStir,
    log,
    quietMs = 20,
    capMs = 500,
    rescanMs = 30_000,
    readyMs = 5_000,
  } = options;
  let dirty: Set<string> | undefined = new Set();
  let since = 0;
  let timer: NodeJS.Timeout | undefined;

  const add: Add = (entry, again = false) => {
    if (entry === undefined) dirty = undefined;
    else dirty?.add(entry);
    if (timer && again) return;
    const now = Date.now();
    if (!timer) {
      since = now;
      // Most editors have written all of a file by then.
      setTimeout(() => timer && dirty && onStir?.([...dirty]), quietMs / 8).unref();
    }
    clearTimeout(timer);
    timer = setTimeout(report, Math.max(0, Math.min(quietMs, since + capMs - now))).unref();
  };
  function report(): void {
    timer = undefined;
    const changed = dirty ?? [];
    dirty = new Set();
    for (const root of roots) root.verify();
    onDirty([...changed]);
  }

  const roots = options.roots.map((root) => watchRoot(root, add, log, readyMs));
  const regular = setInterval(() => add(undefined), rescanMs).unref();
  return {
    /** Resolves once every root that exists is being watched, or after `readyMs`. */
    ready: Promise.all(roots.map((root) => root.verify())).then(() => {}),
    close() {
      clearInterval(regular);
      clearTimeout(timer);
      for (const root of roots) root.close();
    },
  };
}

/** One root. Where a directory is replaced by another, it needs a new watch: chokidar keeps following the old one. */
function watchRoot(root: string, add: Add, log: Logger, readyMs: number) {
  /** As they were last seen; of an entry also after it has gone, since another may come in its place. */
  const entries = new Map<string, string>();
  /** The root and what is above it. */
  let seen = "";
  const open: (() => void)[] = [];
  let ready = Promise.resolve();
  const close = () => open.splice(0).forEach((end) => void end());

  /** Compares what is watched with what is there. Resolves once that is watched. */
  function verify(): Promise<void> {
    const before = seen;
    const dir = nearestExisting(dirname(root));
    const own = identityOf(root);
    seen = `${own} ${dir} ${identityOf(dir)}`;
    const exchanged = namesIn(root).filter((name) => {
      const [was, is] = [entries.get(name), identityOf(join(root, name))];
      if (is !== undefined) entries.set(name, is);
      return was !== undefined && is !== undefined && was !== is;
    });
    if (seen === before && exchanged.length === 0) return ready;
    close();
    // Seen from above, the root may come, go, and be replaced: the next step down to it is the name that matters.
    // The directory's own name is reported when it goes itself.
    const names = [null, relative(dir, root).split(sep)[0], basename(dir)];
    watchPlainly(dir, (name) => names.includes(name) && add(undefined));
    // It may have appeared between looking and watching.
    if (nearestExisting(dirname(root)) !== dir) add(undefined);
    if (own !== undefined) {
      watchPlainly(root, (name) => add(name === null ? undefined : join(root, name)));
      ready = watchInside();
    }
    return ready;
  }

  function watchPlainly(dir: string, heard: (name: string | null) => void): void {
    try {
      const watcher: FSWatcher = watch(dir, { persistent: false }, (_, name) => heard(name));
      watcher.on("error", () => watcher.close());
      open.push(() => watcher.close());
    } catch (error) {
      log.warn({ dir, err: error }, "a directory cannot be watched; the regular rescan continues");
    }
  }

  async function watchInside(): Promise<void> {
    let closed = false;
    open.push(() => (closed = true));
    const { watch: watchTree } = await import("chokidar");
    if (closed) return;
    const watcher = watchTree(root, {
      ignoreInitial: true,
      // Never what keeps the process running.
      persistent: false,
      depth: 6,
      ignored: (path) => /(^|[\\/])(node_modules|\.git)([\\/]|$)/.test(relative(root, path)),
    });
    open.push(() => void watcher.close());
    const heard = (path: string, again: boolean) => {
      const [entry] = relative(root, path).split(sep);
      add(entry && entry !== ".." ? join(root, entry) : undefined, again);
    };
    watcher.on("error", (error) =>
      log.warn({ root, err: error }, "a subdirectory is not watched; the regular rescan continues"),
    );
    // Said some milliseconds after it was heard, when chokidar has looked at it. And it drops a change that follows
    // another within 50 ms: what it hears itself is all there.
    watcher.on("all", (_, path) => heard(path, true));
    watcher.on("raw", (_, __, details) => {
      const { watchedPath } = details as { watchedPath?: string };
      if (watchedPath) heard(watchedPath, false);
    });
    const stands = new Promise<void>((resolve) => watcher.once("ready", resolve));
    // Whatever changed before it stood, also where that takes longer.
    void stands.then(() => closed || add(undefined));
    // A link through a regular file keeps it from ever being ready (chokidar#1476): used as it is.
    await Promise.race([stands, new Promise((resolve) => setTimeout(resolve, readyMs).unref())]);
    if (!closed) add(undefined);
  }

  return { verify, close };
}

/**
 * Distinguishes a directory, also one behind a link, from another under the same name; undefined for what is not a
 * directory. A new directory may get the inode of one that was removed, so the time of its making counts as well.
 */
function identityOf(path: string): string | undefined {
  try {
    const stat = statSync(path, { bigint: true });
    return stat.isDirectory() ? `${stat.dev}:${stat.ino}:${stat.birthtimeNs}` : undefined;
  } catch {
    return undefined; // gone, a link to itself, not ours to look at
  }
}

function nearestExisting(dir: string): string {
  let existing = dir;
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing);
  return existing;
}
