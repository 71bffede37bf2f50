/** A process whose parent is stopped, and so never asks how it ended: killed, it stays a zombie. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { firstLine, until } from "../until.ts";

export interface Unreaped {
  pid: number;
  /** Standard error is that of both. */
  parent: ChildProcess;
  /** Resolves once it is a zombie. */
  kill(): Promise<void>;
  /** Ends both; the system then forgets the zombie. */
  release(): void;
}

const isIn = (state: "T" | "Z", pid: number) =>
  readFileSync(`/proc/${pid}/stat`, "utf8").includes(`) ${state} `);

export async function startUnreaped(command = ["sleep", "1000"]): Promise<Unreaped> {
  // A shell that goes on may ask for its child's end at any time, before an `exec` too.
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
