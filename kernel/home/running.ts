/** What a running gateway leaves in `<home>/state/gateway.json`, so that its home's commands find it. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { readJson } from "../files/listing.ts";
import { writeWhole } from "../files/write-whole.ts";
import type { Logger } from "../types.ts";

export interface RunningGateway {
  pid: number;
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
    log.warn({ err: error, file }, "commands will not find this gateway by themselves: give them --url and --token");
  }
  return () => {
    if (JSON.stringify(readJson(file)) === JSON.stringify(running)) rmSync(file, { force: true });
  };
}

/** Undefined where none runs. */
export function readRunning(stateDir: string): RunningGateway | undefined {
  const running = readJson<RunningGateway>(fileIn(stateDir));
  return running && isAlive(running.pid) ? running : undefined;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"; // it runs as somebody else
  }
}
