/** Files and directories that only the gateway's user can read, whatever the umask and their location. */
import { chmodSync, closeSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";

const PRIVATE_FILE = 0o600;
const PRIVATE_DIR = 0o700;

/** Creates the directory and its missing parents. An existing directory keeps its mode, since it may be shared. */
export function makePrivateDir(dir: string): void {
  // This is not `recursive`, which never returns in Node.js on some file systems.
  if (isDirectory(dir)) return;
  if (dirname(dir) !== dir) makePrivateDir(dirname(dir));
  try {
    mkdirSync(dir, { mode: PRIVATE_DIR });
  } catch (error) {
    if (!isDirectory(dir)) throw error; // another process may have been faster
  }
}

/** Creates the file if it is missing, and makes it private. SQLite gives its `-wal` and `-shm` the mode of the file itself. */
export function makePrivateFile(file: string): void {
  closeSync(openSync(file, "a", PRIVATE_FILE));
  for (const path of [file, `${file}-wal`, `${file}-shm`]) {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats && (stats.mode & 0o077) !== 0 && stats.uid === process.getuid?.())
      chmodSync(path, PRIVATE_FILE);
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
