/**
 * Watches one root. A directory that is replaced by another needs a new watch, because watchers keep following the old
 * one.
 */
import { existsSync, type FSWatcher, statSync, watch } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import type { Logger } from "../../contract/index.ts";
import { listNames } from "../../files/listing.ts";
import type { PendingReports } from "./pending-reports.ts";
import { TreeWatch } from "./watch-tree.ts";

export interface RootWatchOptions {
  root: string;
  reports: PendingReports;
  log: Logger;
  /** The longest time that `verify` waits for the watch below the root. */
  readyMs: number;
}

export class RootWatch {
  readonly #options: RootWatchOptions;
  /** The identity of each entry by name. Removed entries stay, because another one may appear in their place. */
  readonly #entries = new Map<string, string>();
  /** Identifies the directories that are watched: the root, and the nearest existing directory above it. */
  #watchedPlace = "";
  #closers: (() => void)[] = [];
  #ready = Promise.resolve();

  constructor(options: RootWatchOptions) {
    this.#options = options;
  }

  /** Compares the watched entries with the disk. Resolves once every entry is watched. */
  verify(): Promise<void> {
    const { root } = this.#options;
    const parentDir = findExisting(dirname(root));
    const identity = readIdentity(root);
    const place = `${identity} ${parentDir} ${readIdentity(parentDir)}`;
    const isEntryReplaced = this.#updateEntries();
    if (place === this.#watchedPlace && !isEntryReplaced) return this.#ready;
    this.#watchedPlace = place;
    this.close();
    this.#watchFromAbove(parentDir);
    if (identity !== undefined) {
      this.#watchEntries();
      this.#ready = this.#watchInside();
    }
    return this.#ready;
  }

  close(): void {
    for (const close of this.#closers.splice(0)) close();
  }

  /** Returns whether a directory below the root was replaced by another with the same name. */
  #updateEntries(): boolean {
    const { root } = this.#options;
    let isReplaced = false;
    for (const name of listNames(root)) {
      const previousIdentity = this.#entries.get(name);
      const currentIdentity = readIdentity(join(root, name));
      if (currentIdentity === undefined) continue;
      this.#entries.set(name, currentIdentity);
      if (previousIdentity !== undefined && previousIdentity !== currentIdentity) isReplaced = true;
    }
    return isReplaced;
  }

  /**
   * Watches the directory above: the root may appear, vanish or be replaced there. Only the name of the next step down
   * to the root matters.
   */
  #watchFromAbove(parentDir: string): void {
    const { root, reports } = this.#options;
    // A directory's own name is reported when the directory itself is removed.
    const names = [null, relative(parentDir, root).split(sep)[0], basename(parentDir)];
    this.#watchDirectory(parentDir, (name) => {
      if (names.includes(name)) reports.add(undefined);
    });
    // The root may have appeared before the watch began.
    if (findExisting(dirname(root)) !== parentDir) reports.add(undefined);
  }

  #watchEntries(): void {
    const { root, reports } = this.#options;
    this.#watchDirectory(root, (name) => reports.add(name === null ? undefined : join(root, name)));
  }

  #watchInside(): Promise<void> {
    const tree = new TreeWatch(this.#options);
    this.#closers.push(() => tree.close());
    return tree.start();
  }

  #watchDirectory(dir: string, onChange: (name: string | null) => void): void {
    try {
      const options = { persistent: false };
      const watcher: FSWatcher = watch(dir, options, (_event, name) => onChange(name));
      watcher.on("error", () => watcher.close());
      this.#closers.push(() => watcher.close());
    } catch (error) {
      this.#options.log.warn(
        { dir, err: error },
        "a directory cannot be watched; only the regular rescan finds changes in it",
      );
    }
  }
}

/**
 * Returns the identity of a directory, also behind a link; undefined if the path is not a directory. A new directory
 * may get the inode of a removed one, so the creation time is included.
 */
function readIdentity(path: string): string | undefined {
  try {
    const stat = statSync(path, { bigint: true });
    return stat.isDirectory() ? `${stat.dev}:${stat.ino}:${stat.birthtimeNs}` : undefined;
  } catch {
    return undefined; // missing, a link to itself, or not readable
  }
}

function findExisting(dir: string): string {
  let existing = dir;
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing);
  return existing;
}
