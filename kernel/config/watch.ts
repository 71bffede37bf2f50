import { type FSWatcher, watch } from "node:fs";
import { realpath } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { Dispose } from "../contract/index.ts";

const QUIET_MS = 25;
const RESCAN_MS = 2_000;

/**
 * Calls `examine` at once, whenever one of the files may have changed (however an editor writes it), and every 2 s in any
 * case, because the operating system may miss a change. Calls never overlap. Resolves after the first call.
 */
export async function watchFiles(
  files: readonly string[],
  examine: () => Promise<void>,
): Promise<Dispose> {
  let timer: NodeJS.Timeout | undefined;
  let pendingLook: Promise<void> | undefined;
  let isHinted = false;
  let isStopped = false;

  const hint = () => {
    clearTimeout(timer);
    if (!isStopped) timer = setTimeout(start, QUIET_MS).unref();
  };
  const start = (): void => {
    if (pendingLook) {
      isHinted = true;
      return;
    }
    pendingLook = examine().finally(() => {
      pendingLook = undefined;
      if (isHinted) hint();
      isHinted = false;
    });
  };

  // A link is replaced in its own directory, and its target in another.
  const targets = await Promise.all(files.map((file) => realpath(file).catch(() => file)));
  const watchers = [...new Set([...files, ...targets])].flatMap((file) => listen(file, hint));
  const interval = setInterval(start, RESCAN_MS).unref();
  start();
  await pendingLook;

  return async () => {
    isStopped = true;
    clearTimeout(timer);
    clearInterval(interval);
    for (const watcher of watchers) watcher.close();
    await pendingLook;
  };
}

function listen(file: string, hint: () => void): FSWatcher[] {
  try {
    const watcher = watch(dirname(file), { persistent: false }, (_event, name) => {
      if (name === null || name === basename(file)) hint();
    });
    watcher.on("error", () => watcher.close());
    return [watcher];
  } catch {
    return []; // The directory does not exist (yet), or the system has no watches left.
  }
}
