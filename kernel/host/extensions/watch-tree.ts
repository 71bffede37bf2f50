/**
 * Watches the files below a root. This is the only importer of chokidar, which is loaded after the start, because
 * nothing needs it earlier.
 */
import { join, relative, sep } from "node:path";
import type { FSWatcher } from "chokidar";
import type { Logger } from "../../contract/index.ts";
import type { PendingReports } from "./pending-reports.ts";

const DEPTH = 6;
const IGNORED = /(^|[\\/])(node_modules|\.git)([\\/]|$)/;

export interface TreeWatchOptions {
  root: string;
  reports: PendingReports;
  log: Logger;
  /** The longest time that `start` waits. */
  readyMs: number;
}

export class TreeWatch {
  readonly #options: TreeWatchOptions;
  #watcher: FSWatcher | undefined;
  #isClosed = false;

  constructor(options: TreeWatchOptions) {
    this.#options = options;
  }

  /** Resolves once the whole tree is watched, or after `readyMs`. */
  async start(): Promise<void> {
    const { root, readyMs } = this.#options;
    const { watch } = await import("chokidar");
    if (this.#isClosed) return;
    const watcher = watch(root, {
      ignoreInitial: true,
      // The watcher must not keep the process running.
      persistent: false,
      depth: DEPTH,
      ignored: (path) => IGNORED.test(relative(root, path)),
    });
    this.#watcher = watcher;
    this.#listenTo(watcher);
    const isReady = new Promise<void>((resolve) => watcher.once("ready", resolve));
    // Files may have changed before the tree was watched, so rescan then, even if that is later than `readyMs`.
    void isReady.then(() => this.#reportAny());
    // A link through a regular file keeps chokidar from ever becoming ready (chokidar#1476); the watch works
    // nevertheless.
    await Promise.race([isReady, new Promise((resolve) => setTimeout(resolve, readyMs).unref())]);
    this.#reportAny();
  }

  close(): void {
    this.#isClosed = true;
    void this.#watcher?.close();
  }

  #listenTo(watcher: FSWatcher): void {
    const { root, log } = this.#options;
    watcher.on("error", (error) =>
      log.warn(
        { root, err: error },
        "a subdirectory is not watched; only the regular rescan finds changes in it",
      ),
    );
    // chokidar reports "all" some milliseconds after a change, when it has examined the file, and omits a change that
    // follows another within 50 ms. "raw" has every report of the operating system.
    watcher.on("all", (_event, path) => this.#report(path, true));
    watcher.on("raw", (_event, _path, details) => {
      const { watchedPath } = details as { watchedPath?: string };
      if (watchedPath) this.#report(watchedPath, false);
    });
  }

  #report(path: string, isRepeated: boolean): void {
    const { root, reports } = this.#options;
    const [name] = relative(root, path).split(sep);
    const isInside = name !== undefined && name !== "" && name !== "..";
    reports.add(isInside ? join(root, name) : undefined, isRepeated);
  }

  #reportAny(): void {
    if (!this.#isClosed) this.#options.reports.add(undefined);
  }
}
