/** Names workers `<host>/<machine>:<process>.<its start>:<random>`, and recognises those that are dead. */
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { beganAt } from "portico";

export function newWorker(): string {
  return `${hostname()}/${readMachineId()}:${process.pid}.${readStartTime(process.pid)}:${Math.random().toString(36).slice(2, 8)}`;
}

/**
 * Returns true for a worker whose process ran on this machine and has ended. A worker of another machine never counts as
 * dead. `afterStart`: a restarted container or machine counts as the earlier one of the same name, whose processes have all
 * ended. Pass it only at startup, because later it would end the leases of a neighbour that has the same name.
 */
export function isDead(worker: string, { afterStart = false } = {}): boolean {
  const [place = "", processPart = ""] = worker.split(":");
  const [host, id] = place.split("/");
  const [number, start] = processPart.split(".");
  const pid = Number(number);
  if (host !== hostname()) return false;
  if (id === readMachineId()) return String(readStartTime(pid)) !== start;
  return afterStart && (pid === process.pid || readStartTime(pid) === undefined);
}

/**
 * Returns an id that differs between containers of the same name and between boots of a machine; empty if the system
 * offers none.
 */
function readMachineId(): string {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").slice(0, 8);
    return `${boot}-${readlinkSync("/proc/self/ns/pid").replace(/\D/g, "")}`;
  } catch {
    return "";
  }
}

/**
 * Returns the start time of a process, which differs from that of a later process with the same id; undefined if it has
 * ended.
 */
function readStartTime(pid: number): string | undefined {
  return beganAt(pid) || (readMachineId() === "" && isRunning(pid) ? "unknown" : undefined);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
