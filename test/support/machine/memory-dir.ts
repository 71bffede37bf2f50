/**
 * The directory for a run's temporary files: in memory if there is enough of it. Tests sync their writes, and the journal
 * and write-back of a disk would take processor time.
 */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MEMORY = "/dev/shm";
/** The required free memory, several times the peak of all tests together (browser profiles, PostgreSQL clusters). */
const FREE_BYTES = 4 * 1024 ** 3;

/**
 * Returns a directory for this process, and a function that removes it. If `TMPDIR` is set, returns the system's directory,
 * which stays.
 */
export function runDir(): { dir: string; remove(): void } {
  const systemDir = { dir: tmpdir(), remove: () => {} };
  if (process.env["TMPDIR"]) return systemDir;
  let dir = "";
  const remove = () => rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  try {
    // Containers may share the memory without seeing each other's processes, so the name contains the namespace. It is
    // short, because the paths of sockets below it may have at most 107 characters.
    const pidNamespace = Number(/\d+/.exec(readlinkSync("/proc/self/ns/pid")));
    const prefix = `portico-${pidNamespace.toString(36)}-`;
    removeLeftovers(prefix);
    const { bavail, bsize } = statfsSync(MEMORY);
    if (Math.min(bavail * bsize, process.availableMemory()) < FREE_BYTES) return systemDir;
    const newDir = join(MEMORY, `${prefix}${process.pid}`);
    mkdirSync(newDir);
    dir = newDir;
    // The same mode as the system's directory, because PostgreSQL runs as another user.
    chmodSync(dir, 0o1777);
    // Many containers mount it as noexec, but tests run programs there.
    const probe = join(dir, "probe");
    writeFileSync(probe, "#!/bin/sh\n", { mode: 0o700 });
    execFileSync(probe, { stdio: "ignore" });
    return { dir, remove };
  } catch {
    if (dir !== "") remove();
    return systemDir;
  }
}

/** Removes directories of killed runs, which would occupy memory until the next boot. */
function removeLeftovers(prefix: string): void {
  for (const name of readdirSync(MEMORY).filter((entry) => entry.startsWith(prefix)))
    try {
      process.kill(Number(name.slice(prefix.length)), 0);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ESRCH")
        rmSync(join(MEMORY, name), { recursive: true, force: true });
    }
}
