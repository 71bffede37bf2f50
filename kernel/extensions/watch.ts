/**
 * Watches the roots of hooks and plugins. What the operating system tells is only a hint that something below a
 * directory may have changed: the caller rescans and compares contents, and a rescan comes every 30 s in any case.
 * The only importer of chokidar, which is loaded after the start because nobody needs it before.
 */
import { existsSync, type FSWatcher as NodeWatcher, readdirSync, statSync, watch as watchDirectory } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import type { FSWatcher } from "chokidar";
import type { Logger } from "../types.ts";

export interface WatchOptions {
  roots: readonly string[];
  /** Called with the root's own directories (`<root>/<name>`) that may have changed; empty: any of them, rescan all. */
  onDirty(dirs: readonly string[]): void;
  log: Logger;
  /** Changes are told after this much quiet; default 20 ms. */
  quietMs?: number;
  /** … but no later than this after the first of them; default 500 ms. */
  capMs?: number;
  /** Rescan without any hint; default 30 s. */
  rescanMs?: number;
  /** A watcher that has not reported ready by then is used as it is; default 5 s. */
  readyMs?: number;
}

export interface RootWatch {
  /** Resolves once every root that exists is being watched (or has run out of time). */
  readonly ready: Promise<void>;
  close(): Promise<void>;
}

/** Starts watching at once and in the background; a root may be missing, vanish and come back. */
export function watchRoots(options: WatchOptions): RootWatch {
  const pending = createBatch(options.onDirty, options.quietMs ?? 20, options.capMs ?? 500);
  const watches = options.roots.map((root) => watchRoot(root, pending.add, options));
  const timer = setInterval(() => {
    for (const watched of watches) watched.verify();
    pending.add(undefined);
  }, options.rescanMs ?? 30_000).unref();
  return {
    ready: Promise.all(watches.map((watched) => watched.ready)).then(() => {}),
    async close() {
      clearInterval(timer);
      pending.close();
      await Promise.all(watches.map((watched) => watched.close()));
    },
  };
}

/** Collects dirty directories until it has been quiet for a moment. `undefined` stands for everything. */
function createBatch(tell: (dirs: readonly string[]) => void, quietMs: number, capMs: number) {
  let dirs = new Set<string>();
  let everything = false;
  let since = 0;
  let timer: NodeJS.Timeout | undefined;
  function flush(): void {
    timer = undefined;
    const told = everything ? [] : [...dirs];
    dirs = new Set();
    everything = false;
    tell(told);
  }
  return {
    add(dir: string | undefined): void {
      if (dir === undefined) everything = true;
      else dirs.add(dir);
      const now = Date.now();
      if (!timer) since = now;
      clearTimeout(timer);
      timer = setTimeout(flush, Math.max(0, Math.min(quietMs, since + capMs - now))).unref();
    },
    close: () => clearTimeout(timer),
  };
}

type Add = (dir: string | undefined) => void;

/**
 * One root. chokidar sees what happens inside it; two plain watches see what chokidar misses: the root being removed,
 * created or replaced (seen from the nearest existing ancestor) and a linked directory being pointed elsewhere.
 */
function watchRoot(root: string, add: Add, options: WatchOptions) {
  const { log } = options;
  let inside: Inside | undefined;
  let above: NodeWatcher | undefined;
  let inode: string | undefined;
  let closed = false;
  let ready: Promise<void> = Promise.resolve();

  /** Compares what is watched with what is there. */
  function verify(): void {
    if (closed) return;
    const now = inodeOf(root);
    const ancestor = nearestExisting(dirname(root));
    if (above === undefined || aboveDir !== ancestor) watchAbove(ancestor);
    if (now === inode) return;
    inode = now;
    add(undefined);
    void inside?.close();
    inside = undefined;
    if (now === undefined) return;
    inside = watchInside(root, add, reopen, options);
    ready = inside.ready;
  }

  function reopen(): void {
    inode = undefined;
    verify();
  }

  let aboveDir = "";
  function watchAbove(dir: string): void {
    above?.close();
    aboveDir = dir;
    // The next step on the way down to the root is the only name that matters here.
    const step = relative(dir, root).split(sep)[0];
    try {
      above = watchDirectory(dir, { persistent: false }, (_, name) => {
        if (name === null || name === step) verify();
      });
      above.on("error", () => {
        above = undefined; // the next verification opens another
      });
    } catch (error) {
      above = undefined;
      log.debug({ dir, err: error }, "directory cannot be watched; the regular rescan goes on");
    }
    // It may have appeared between looking and watching.
    if (nearestExisting(dirname(root)) !== dir) queueMicrotask(verify);
  }

  verify();
  return {
    get ready() {
      return ready;
    },
    verify,
    async close() {
      closed = true;
      above?.close();
      await inside?.close();
    },
  };
}

interface Inside {
  ready: Promise<void>;
  close(): Promise<void>;
}

function watchInside(root: string, add: Add, reopen: () => void, options: WatchOptions): Inside {
  const { log } = options;
  let closed = false;
  let watcher: FSWatcher | undefined;
  let links: NodeWatcher | undefined;
  const dirOf = (path: string) => {
    const [child] = relative(root, path).split(sep);
    return child && child !== ".." ? join(root, child) : undefined;
  };
  const inodes = new Map<string, string>();
  /** True where a directory (or the target of a link) has been exchanged for another one under the same name. */
  function exchanged(path: string): boolean {
    const before = inodes.get(path);
    const now = inodeOf(path) ?? "";
    inodes.set(path, now);
    return Boolean(before && now && before !== now);
  }

  try {
    for (const name of readdirSync(root)) exchanged(join(root, name));
    links = watchDirectory(root, { persistent: false }, (_, name) => {
      add(name === null ? undefined : join(root, name));
      // chokidar goes on watching the old one: only a new watcher follows.
      if (name !== null && exchanged(join(root, name)) && watcher) reopen();
    });
    links.on("error", () => {});
  } catch {
    // chokidar reports what it can
  }

  async function open(): Promise<void> {
    const { watch } = await import("chokidar");
    if (closed) return;
    watcher = watch(root, {
      ignoreInitial: true,
      // Never what keeps the process running.
      persistent: false,
      depth: 6,
      ignored: (path) => /(^|[\\/])(node_modules|\.git)([\\/]|$)/.test(relative(root, path)),
    });
    watcher.on("error", (error) =>
      log.warn({ root, err: error }, "watching failed in part; the regular rescan goes on"),
    );
    watcher.on("all", (_, path) => add(dirOf(path)));
    // chokidar drops a change that follows another within 50 ms; what it hears itself is all there.
    watcher.on("raw", (_, __, details) => {
      const { watchedPath } = details as { watchedPath?: string };
      if (watchedPath) add(dirOf(watchedPath));
    });
    await settled(watcher, options.readyMs ?? 5000, () => {
      log.warn({ root }, "the watcher is not ready in time; the regular rescan goes on");
    });
    // Whatever changed before the watcher stood.
    if (!closed) add(undefined);
  }

  const ready = open().catch((error: unknown) => {
    log.error({ root, err: error }, "hooks and plugins are not watched; the regular rescan goes on");
  });
  return {
    ready,
    async close() {
      closed = true;
      links?.close();
      await watcher?.close();
    },
  };
}

/** A link through a regular file keeps chokidar from ever being ready (chokidar#1476). */
function settled(watcher: FSWatcher, readyMs: number, late: () => void): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      late();
      resolve();
    }, readyMs).unref();
    watcher.once("ready", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function inodeOf(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stat?.isDirectory() ? `${stat.dev}:${stat.ino}` : undefined;
}

function nearestExisting(dir: string): string {
  let existing = dir;
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing);
  return existing;
}
