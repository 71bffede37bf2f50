/**
 * Which browser processes are ours, on disk, so that a gateway that was killed leaves none behind: the next start ends
 * what the record names. A process number alone would be a gamble (numbers are used again); the time at which the
 * process began must fit too.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { pause } from "../deadline.ts";

interface ProcessRecord {
  pid: number;
  /** As the operating system tells it; only ever compared. */
  startedAt: string;
  /** The gateway that started it, as `gatewayName` has it. */
  gateway: string;
}

/** When a process began, in the system's own words; `undefined` where there is no such process. */
export async function startOf(pid: number): Promise<string | undefined> {
  if (process.platform === "linux") {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
    // The name in parentheses may hold spaces and parentheses: fields are counted from the last one.
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

/** Also false for one that has ended without its parent having heard of it; true where the system does not tell. */
export const isRunning = async (pid: number): Promise<boolean> =>
  process.platform === "win32" || (await startOf(pid)) !== undefined;

/**
 * This gateway's process (or another one) in a form that may be part of a file's name; no other process ever has it
 * again. What carries the name of one that runs was not left behind: an older version of the plugin may still use it.
 */
export async function gatewayName(pid = process.pid): Promise<string> {
  const startedAt = (await startOf(pid)) ?? "";
  return `${pid}.${createHash("sha256").update(startedAt).digest("hex").slice(0, 12)}`;
}

/** True for a name that `gatewayName` has made, while that gateway runs. */
export async function isRunningGateway(name: string): Promise<boolean> {
  const pid = Number(name.split(".")[0]);
  if (!Number.isInteger(pid) || pid <= 0) return false;
  // Where the system does not tell when a process began, only this one is known to run.
  if (pid !== process.pid && (await startOf(pid)) === undefined) return false;
  return name === (await gatewayName(pid));
}

export async function writeRecord(file: string, pid: number): Promise<void> {
  const startedAt = await startOf(pid);
  if (startedAt === undefined) return;
  const record: ProcessRecord = { pid, startedAt, gateway: await gatewayName() };
  await writeFile(file, JSON.stringify(record), { mode: 0o600 });
}

async function readRecord(file: string): Promise<Partial<ProcessRecord> | undefined> {
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as Partial<ProcessRecord>;
  } catch {
    // A torn record names no process.
    return {};
  }
}

/** Signals the process group of the browser. False if it no longer exists. */
export function signalGroup(pid: number, signal: NodeJS.Signals): boolean {
  for (const target of process.platform === "win32" ? [pid] : [-pid, pid]) {
    try {
      process.kill(target, signal);
      return true;
    } catch {
      // Not there, or not a group: the next form, or nothing.
    }
  }
  return false;
}

/** Ends the process of a record, if it is still the same one, and removes the record. True when it had to be ended. */
export async function endRecorded(file: string): Promise<boolean> {
  const record = await readRecord(file);
  if (record === undefined) return false;
  const { pid, startedAt } = record;
  const same = async (): Promise<boolean> =>
    pid !== undefined && startedAt !== undefined && (await startOf(pid)) === startedAt;
  let ended = false;
  if (await same()) {
    ended = signalGroup(pid!, "SIGTERM");
    for (let i = 0; i < 40 && (await same()); i++) await pause(50);
    if (await same()) signalGroup(pid!, "SIGKILL");
  }
  await rm(file, { force: true });
  return ended;
}

/** As `endRecorded`, unless the gateway that started the browser still runs. */
export async function endOrphan(file: string): Promise<boolean> {
  const { gateway = "" } = (await readRecord(file)) ?? {};
  return (await isRunningGateway(gateway)) ? false : endRecorded(file);
}
