/** Files and directories that only the gateway's user can read, whatever the umask and their location. */
import { chmodSync, closeSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";

const PRIVATE_FILE = 0o600;
const PRIVATE_DIR = 0o700;

/** Makes the directory and those above it that are missing; one that is there keeps its mode, for it may be shared. */
export function makePrivateDir(dir: string): void {
  // not `recursive`: on some file systems Node never comes back from that
  if (isDirectory(dir)) return;
  if (dirname(dir) !== dir) makePrivateDir(dirname(dir));
  try {
    mkdirSync(dir, { mode: PRIVATE_DIR });
  } catch (error) {
    if (!isDirectory(dir)) throw error; // another process may have been faster
  }
}

/** Creates the file where it is missing. SQLite gives its `-wal` and `-shm` the mode of the file itself. */
export function makePrivateFile(file: string): void {
  closeSync(openSync(file, "a", PRIVATE_FILE));
  for (const each of [file, `${file}-wal`, `${file}-shm`]) {
    const stats = statSync(each, { throwIfNoEntry: false });
    if (stats && (stats.mode & 0o077) !== 0 && stats.uid === process.getuid?.())
      chmodSync(each, PRIVATE_FILE);
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
