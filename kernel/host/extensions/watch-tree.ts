/** Watches what is below a root. The only importer of chokidar, which is loaded after the start, because nothing needs it earlier. */
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
  /** `start` waits no longer than this. */
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
      // Never what keeps the process running.
      persistent: false,
      depth: DEPTH,
      ignored: (path) => IGNORED.test(relative(root, path)),
    });
    this.#watcher = watcher;
    this.#listenTo(watcher);
    const isReady = new Promise<void>((resolve) => watcher.once("ready", resolve));
    // What changed before the tree was watched has to be looked at, also where that takes longer than `readyMs`.
    void isReady.then(() => this.#reportAny());
    // A link through a regular file keeps it from ever being ready (chokidar#1476): used as it is.
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
      log.warn({ root, err: error }, "a subdirectory is not watched; the regular rescan continues"),
    );
    // "all" comes some milliseconds after the change, when chokidar has looked at it, and leaves out a change that
    // follows another within 50 ms. "raw" is all that the operating system reports.
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
