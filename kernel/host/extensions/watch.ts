/**
 * Watches the roots of hooks and plugins. A report of the operating system is only a hint that something may have
 * changed: the caller rescans and compares contents, and a rescan comes every 30 s in any case.
 */
import type { Logger } from "../../contract/index.ts";
import { PendingReports } from "./pending-reports.ts";
import { RootWatch } from "./watch-root.ts";

export interface WatchOptions {
  roots: readonly string[];
  /** Called with the root's own entries (`<root>/<name>`) that may have changed; empty: any of them, rescan all. */
  onDirty(dirs: readonly string[]): void;
  /** Called shortly after the first change, before the quiet period ends; not if any entry may have changed. */
  onFirst?(dirs: readonly string[]): void;
  log: Logger;
  /** The quiet period after which changes are reported; default 20 ms. */
  quietMs?: number;
  /** The longest time that the first change waits; default 500 ms. */
  capMs?: number;
  /** The interval of rescans without any hint; default 30 s. */
  rescanMs?: number;
  /** The longest time that `ready` waits for a root; default 5 s. */
  readyMs?: number;
}

export interface Watch {
  /** Resolves when every existing root is being watched, or after `readyMs`. */
  ready: Promise<void>;
  close(): void;
}

/** Starts at once and in the background; a root may be missing, vanish and come back. */
export function watchRoots(options: WatchOptions): Watch {
  const { log, quietMs = 20, capMs = 500, rescanMs = 30_000, readyMs = 5_000 } = options;
  const reports = new PendingReports({
    quietMs,
    capMs,
    onFirst: options.onFirst,
    onQuiet(dirs) {
      for (const watch of watches) void watch.verify();
      options.onDirty(dirs);
    },
  });
  const watches = options.roots.map((root) => new RootWatch({ root, reports, log, readyMs }));
  const rescan = setInterval(() => reports.add(undefined), rescanMs).unref();
  return {
    ready: Promise.all(watches.map((watch) => watch.verify())).then(() => {}),
    close() {
      clearInterval(rescan);
      reports.close();
      for (const watch of watches) watch.close();
    },
  };
}
