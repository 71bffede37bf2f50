/**
 * Records on disk which browser processes are ours, so that a gateway that was killed leaves none behind: the next
 * start ends the recorded process. A process id alone would be unsafe (ids are reused), so the start time of the
 * process must match too.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { pause } from "../deadline.ts";

interface ProcessRecord {
  pid: number;
  /** The start time as the operating system reports it; it is only compared. */
  startedAt: string;
  /** The name of the gateway that started the browser, from `gatewayName`. */
  gateway: string;
}

/** Returns the start time of a process in the system's own format, or `undefined` if there is no such process. */
export async function startTimeOf(pid: number): Promise<string | undefined> {
  if (process.platform === "linux") {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
    // The name in parentheses may contain spaces and parentheses, so fields are counted from the last one.
    const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields === undefined || fields[0] === "Z" ? undefined : fields[19];
  }
  if (process.platform === "win32") return undefined;
  const { stdout } = await promisify(execFile)("ps", ["-o", "lstart=", "-p", String(pid)]).catch(
    () => ({
      stdout: "",
    }),
  );
  return stdout.trim() || undefined;
}

/** Also false for a zombie process. True if the system provides no start times. */
export const isRunning = async (pid: number): Promise<boolean> =>
  process.platform === "win32" || (await startTimeOf(pid)) !== undefined;

/**
 * Names this gateway's process (or another one) in a form that is safe in file names and that no other process ever
 * has. Files that carry the name of a running gateway are not leftovers: an older version of the plugin may still use
 * them.
 */
export async function getGatewayName(pid = process.pid): Promise<string> {
  const startedAt = (await startTimeOf(pid)) ?? "";
  return `${pid}.${createHash("sha256").update(startedAt).digest("hex").slice(0, 12)}`;
}

/** True if the gateway that `gatewayName` gave this name still runs. */
export async function isRunningGateway(name: string): Promise<boolean> {
  const pid = Number(name.split(".")[0]);
  if (!Number.isInteger(pid) || pid <= 0) return false;
  // If the system provides no start times, only this process is known to run.
  if (pid !== process.pid && (await startTimeOf(pid)) === undefined) return false;
  return name === (await getGatewayName(pid));
}

export async function writeRecord(file: string, pid: number): Promise<void> {
  const startedAt = await startTimeOf(pid);
  if (startedAt === undefined) return;
  const record: ProcessRecord = { pid, startedAt, gateway: await getGatewayName() };
  await writeFile(file, JSON.stringify(record), { mode: 0o600 });
}

async function readRecord(file: string): Promise<Partial<ProcessRecord> | undefined> {
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as Partial<ProcessRecord>;
  } catch {
    // A damaged record names no process.
    return {};
  }
}

/** Sends a signal to the process group of the browser. Returns false if the group no longer exists. */
export function signalGroup(pid: number, signal: NodeJS.Signals): boolean {
  for (const target of process.platform === "win32" ? [pid] : [-pid, pid]) {
    try {
      process.kill(target, signal);
      return true;
    } catch {
      // The process does not exist or leads no group: try the next form.
    }
  }
  return false;
}

/**
 * Ends the process of a record if it is still the same one, and removes the record. Resolves with true if the process
 * ran.
 */
export async function endRecorded(file: string): Promise<boolean> {
  const record = await readRecord(file);
  if (record === undefined) return false;
  const { pid, startedAt } = record;
  const isSameProcess = async (): Promise<boolean> =>
    pid !== undefined && startedAt !== undefined && (await startTimeOf(pid)) === startedAt;
  let wasSignalled = false;
  if (await isSameProcess()) {
    wasSignalled = signalGroup(pid!, "SIGTERM");
    for (let i = 0; i < 40 && (await isSameProcess()); i++) await pause(50);
    if (await isSameProcess()) signalGroup(pid!, "SIGKILL");
  }
  await rm(file, { force: true });
  return wasSignalled;
}

/** Acts like `endRecorded`, unless the gateway that started the browser still runs. */
export async function endOrphan(file: string): Promise<boolean> {
  const { gateway = "" } = (await readRecord(file)) ?? {};
  return (await isRunningGateway(gateway)) ? false : endRecorded(file);
}
