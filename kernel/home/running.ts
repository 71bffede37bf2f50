/** What a running gateway leaves in `<home>/state/gateway.json`, so that its home's commands find it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface RunningGateway {
  pid: number;
  port: number;
  url: string;
  /** The file with its certificate, where it speaks TLS. */
  cert?: string;
}

/** Undefined where none runs. */
export function readRunning(stateDir: string): RunningGateway | undefined {
  try {
    const running = JSON.parse(readFileSync(join(stateDir, "gateway.json"), "utf8")) as RunningGateway;
    return isAlive(running.pid) ? running : undefined;
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"; // it runs as somebody else
  }
}
