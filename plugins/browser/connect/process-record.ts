/**
 * Which browser processes are ours, on disk, so that a gateway that was killed leaves none behind: the next start ends
 * what the record names. A process number alone would be a gamble (numbers are used again); the time at which the
 * process began must fit too.
 */
import { execFile } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { pause } from "../deadline.ts";

export interface ProcessRecord {
  pid: number;
  /** As the operating system tells it; only ever compared. */
  startedAt: string;
  port: number;
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
  const { stdout } = await promisify(execFile)("ps", ["-o", "lstart=", "-p", String(pid)]).catch(() => ({
    stdout: "",
  }));
  return stdout.trim() || undefined;
}

export async function writeRecord(file: string, pid: number, port: number): Promise<void> {
  const startedAt = await startOf(pid);
  if (startedAt !== undefined) await writeFile(file, JSON.stringify({ pid, startedAt, port }), { mode: 0o600 });
}

/** Signals the whole group that the browser leads. False where it is gone. */
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
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) return false;
  let record: Partial<ProcessRecord> = {};
  try {
    record = JSON.parse(text) as Partial<ProcessRecord>;
  } catch {
    // A torn record names nobody.
  }
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
