import { type FSWatcher, watch } from "node:fs";
import { realpath } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { Dispose } from "../contract/index.ts";

const QUIET_MS = 25;
const SLOW_MS = 2_000;

/**
 * Calls `look` at once, whenever one of the files may have changed (by whatever way an editor writes it), and every 2 s
 * in any case, since the operating system may miss a change. Calls never overlap. Resolves after the first.
 */
export async function watchFiles(
  files: readonly string[],
  look: () => Promise<void>,
): Promise<Dispose> {
  let timer: NodeJS.Timeout | undefined;
  let busy: Promise<void> | undefined;
  let again = false;
  let stopped = false;

  const hint = () => {
    clearTimeout(timer);
    if (!stopped) timer = setTimeout(start, QUIET_MS).unref();
  };
  const start = (): void => {
    if (busy) {
      again = true;
      return;
    }
    busy = look().finally(() => {
      busy = undefined;
      if (again) hint();
      again = false;
    });
  };

  // A link is swapped in its own directory, its target in another.
  const targets = await Promise.all(files.map((file) => realpath(file).catch(() => file)));
  const watchers = [...new Set([...files, ...targets])].flatMap((file) => listen(file, hint));
  const slow = setInterval(start, SLOW_MS).unref();
  start();
  await busy;

  return async () => {
    stopped = true;
    clearTimeout(timer);
    clearInterval(slow);
    for (const watcher of watchers) watcher.close();
    await busy;
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
    return []; // no such directory (yet), or no watches left
  }
}
