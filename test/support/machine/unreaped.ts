/** A process whose parent is stopped and never reaps it, so that it becomes a zombie when it is killed. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { firstLine, until } from "../until.ts";

export interface Unreaped {
  pid: number;
  /** The parent. Its standard error is shared by both processes. */
  parent: ChildProcess;
  /** Kills the process. Resolves when it is a zombie. */
  kill(): Promise<void>;
  /** Kills both processes, after which the system removes the zombie. */
  release(): void;
}

const isIn = (state: "T" | "Z", pid: number) =>
  readFileSync(`/proc/${pid}/stat`, "utf8").includes(`) ${state} `);

export async function startUnreaped(command = ["sleep", "1000"]): Promise<Unreaped> {
  // The shell stops itself, because a running shell may reap its child at any time, even before an `exec`.
  const script = '"$@" >&2 & echo $!; kill -STOP $$';
  const parent = spawn("sh", ["-c", script, "sh", ...command], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const pid = Number(await firstLine(parent.stdout));
  await until("its parent to stop", () => isIn("T", parent.pid as number));
  return {
    pid,
    parent,
    async kill() {
      process.kill(pid, "SIGKILL");
      await until("a zombie", () => isIn("Z", pid));
    },
    release() {
      process.kill(pid, "SIGKILL");
      parent.kill("SIGKILL");
    },
  };
}
