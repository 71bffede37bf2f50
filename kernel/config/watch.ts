import { type FSWatcher, watch } from "node:fs";
import { realpath } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { Dispose } from "../types.ts";
import { fingerprint, readText } from "./file.ts";

const QUIET_MS = 25;
const GRACE_MS = 250;
const SLOW_MS = 2_000;

/**
 * Hands over the file's text whenever it may have changed; undefined where the file is gone. Editors that write in place,
 * swap files or remove and make them anew all come out as one call with the finished text: a text that `isWhole` doubts
 * is only handed over when it still looks the same a moment later.
 */
export async function watchFile(
  file: string,
  onText: (text: string | undefined) => Promise<void>,
  isWhole: (text: string | undefined) => boolean,
): Promise<Dispose> {
  let seen = "never"; // what was written since the caller last read it must not be missed
  let timer: NodeJS.Timeout | undefined;
  let busy: Promise<void> | undefined;
  let again = false;
  let stopped = false;
  const watchers: FSWatcher[] = [];

  const soon = (ms: number) => {
    clearTimeout(timer);
    if (!stopped) timer = setTimeout(look, ms).unref();
  };

  const look = (): void => {
    if (busy) {
      again = true;
      return;
    }
    busy = settle().finally(() => {
      busy = undefined;
      if (again && !stopped) soon(QUIET_MS);
      again = false;
    });
  };

  async function settle(): Promise<void> {
    const mark = await fingerprint(file);
    if (mark === seen) return;
    let text = await readQuietly();
    if (!isWhole(text)) {
      await new Promise((resolve) => setTimeout(resolve, GRACE_MS));
      const later = await fingerprint(file);
      if (later !== mark) {
        again = true;
        return;
      }
      text = await readQuietly();
    }
    seen = mark;
    if (!stopped) await onText(text);
  }

  // A file that just cannot be read (its rights are being changed) is as good as gone.
  const readQuietly = () => readText(file).catch(() => undefined);

  const listen = (path: string) => {
    const directory = dirname(path);
    const name = basename(path);
    try {
      const watcher = watch(directory, { persistent: false }, (_event, changed) => {
        if (changed === null || changed === name) soon(QUIET_MS);
      });
      watcher.on("error", () => watcher.close()); // the slow look stays
      watchers.push(watcher);
    } catch {
      // No such directory (yet), or no watches left: the slow look stays.
    }
  };

  listen(file);
  const target = await realpath(file).catch(() => file);
  if (target !== file && dirname(target) !== dirname(file)) listen(target);
  const slow = setInterval(look, SLOW_MS).unref();
  look();
  await busy;

  return async () => {
    stopped = true;
    clearTimeout(timer);
    clearInterval(slow);
    for (const watcher of watchers) watcher.close();
    await busy;
  };
}
