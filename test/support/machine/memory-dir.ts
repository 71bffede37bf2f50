/**
 * Where a run of the suite has its temporary files: in memory where there is enough of it. What tests write they sync,
 * and a disk's journal and its writing back take processor time that no test is about.
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
/** Several times what all tests together have there at a time: profiles of browsers, clusters of PostgreSQL. */
const FREE_BYTES = 4 * 1024 ** 3;

/** A directory for this process, and the way to remove it; the system's one, which stays, where `TMPDIR` asks for it. */
export function runDir(): { dir: string; remove(): void } {
  const usual = { dir: tmpdir(), remove: () => {} };
  if (process.env["TMPDIR"]) return usual;
  let dir = "";
  const remove = () => rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  try {
    // Containers may share the memory, and do not know each other's processes. Short: below it lie sockets, whose paths
    // have at most 107 characters.
    const space = Number(/\d+/.exec(readlinkSync("/proc/self/ns/pid")));
    const prefix = `portico-${space.toString(36)}-`;
    removeLeft(prefix);
    const { bavail, bsize } = statfsSync(MEMORY);
    if (Math.min(bavail * bsize, process.availableMemory()) < FREE_BYTES) return usual;
    const own = join(MEMORY, `${prefix}${process.pid}`);
    mkdirSync(own);
    dir = own;
    // As the system's one: PostgreSQL runs as another user.
    chmodSync(dir, 0o1777);
    // Many a container mounts it so that no program in it runs, as tests' do.
    const probe = join(dir, "probe");
    writeFileSync(probe, "#!/bin/sh\n", { mode: 0o700 });
    execFileSync(probe, { stdio: "ignore" });
    return { dir, remove };
  } catch {
    if (dir !== "") remove();
    return usual;
  }
}

/** Of runs that were killed: it would hold memory until the next boot. */
function removeLeft(prefix: string): void {
  for (const name of readdirSync(MEMORY).filter((each) => each.startsWith(prefix)))
    try {
      process.kill(Number(name.slice(prefix.length)), 0);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ESRCH")
        rmSync(join(MEMORY, name), { recursive: true, force: true });
    }
}
