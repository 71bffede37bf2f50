/** Names of workers, and which of them are known to be dead: `<host>/<machine>:<process>.<its start>:<random>`. */
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { beganAt } from "portico";

export function newWorker(): string {
  return `${hostname()}/${machine()}:${process.pid}.${startOf(process.pid)}:${Math.random().toString(36).slice(2, 8)}`;
}

/**
 * True for a worker whose process ran on this machine and has ended; a worker of another machine never counts as dead.
 * `afterStart`: a restarted container or machine counts as the earlier one of the same name, whose processes have all
 * ended. Only pass it at startup: later, it would end the leases of a neighbour that has the same name.
 */
export function isDead(worker: string, { afterStart = false } = {}): boolean {
  const [place = "", process_ = ""] = worker.split(":");
  const [host, id] = place.split("/");
  const [number, start] = process_.split(".");
  const pid = Number(number);
  if (host !== hostname()) return false;
  if (id === machine()) return String(startOf(pid)) !== start;
  return afterStart && (pid === process.pid || startOf(pid) === undefined);
}

/** What tells two containers of one name apart, and two boots of one machine; empty where the system does not say. */
function machine(): string {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").slice(0, 8);
    return `${boot}-${readlinkSync("/proc/self/ns/pid").replace(/\D/g, "")}`;
  } catch {
    return "";
  }
}

/** When a process began, which tells it from a later one of the same number; `undefined` where it has ended. */
function startOf(pid: number): string | undefined {
  return beganAt(pid) || (machine() === "" && isThere(pid) ? "unknown" : undefined);
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
