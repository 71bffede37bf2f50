/** What a running gateway leaves in `<home>/state/gateway.json`, so that its home's commands find it. */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { readJson } from "../files/listing.ts";
import { writeWhole } from "../files/write-whole.ts";
import type { Logger } from "../contract/index.ts";

export interface RunningGateway {
  pid: number;
  /** When that process began, as `beganAt` has it: by now its number may be another's. */
  began?: string | undefined;
  port: number;
  url: string;
  /** The file with its certificate, where it speaks TLS. */
  cert?: string | undefined;
}

const fileIn = (stateDir: string) => join(stateDir, "gateway.json");

/** Writes it; the result removes it, unless it is another gateway's by then. Never throws. */
export function leaveTrace(stateDir: string, running: RunningGateway, log: Logger): () => void {
  const file = fileIn(stateDir);
  try {
    writeWhole(file, JSON.stringify(running));
  } catch (error) {
    log.warn(
      { err: error, file },
      "commands cannot find this gateway automatically: pass --url and --token",
    );
  }
  return () => {
    if (JSON.stringify(readJson(file)) === JSON.stringify(running)) rmSync(file, { force: true });
  };
}

/** Undefined where none runs. */
export function readRunning(stateDir: string): RunningGateway | undefined {
  const running = readJson<RunningGateway>(fileIn(stateDir));
  return running && isAlive(running) ? running : undefined;
}

/** When a process began, by the system's clock; "" for a zombie, undefined where the system does not say. */
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
    return (error as NodeJS.ErrnoException).code === "EPERM"; // it runs as somebody else
  }
}
