/** Manages `<home>/state/gateway.json`, by which the home's commands find the running gateway. */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { readJson } from "../files/listing.ts";
import { writeWhole } from "../files/write-whole.ts";
import type { Logger } from "../contract/index.ts";

export interface RunningGateway {
  pid: number;
  /** The start time of that process, as `beganAt` returns it: another process may have its id by now. */
  began?: string | undefined;
  port: number;
  url: string;
  /** The file with the certificate, if the gateway speaks TLS. */
  cert?: string | undefined;
}

const traceFileIn = (stateDir: string) => join(stateDir, "gateway.json");

/** Writes the file. The returned function removes it, unless it belongs to another gateway by then. Never throws. */
export function leaveTrace(stateDir: string, gateway: RunningGateway, log: Logger): () => void {
  const file = traceFileIn(stateDir);
  try {
    writeWhole(file, JSON.stringify(gateway));
  } catch (error) {
    log.warn(
      { err: error, file },
      "commands cannot find this gateway automatically: pass --url and --token",
    );
  }
  return () => {
    if (JSON.stringify(readJson(file)) === JSON.stringify(gateway)) rmSync(file, { force: true });
  };
}

/** Returns the running gateway of a home, or undefined if none runs. */
export function readRunning(stateDir: string): RunningGateway | undefined {
  const gateway = readJson<RunningGateway>(traceFileIn(stateDir));
  return gateway && isAlive(gateway) ? gateway : undefined;
}

/**
 * Returns the start time of a process by the system's clock; "" for a zombie, undefined if the system does not provide
 * it.
 */
export function beganAt(pid: number): string | undefined {
  try {
    const [state, ...fields] = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    return state === "Z" || state === "X" ? "" : fields[18];
  } catch {
    return undefined;
  }
}

function isAlive({ pid, began }: RunningGateway): boolean {
  const actualStart = began && beganAt(pid);
  if (actualStart !== undefined) return actualStart === began;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"; // the process belongs to another user
  }
}
