/** Other processes with the same store. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { program } from "../../support/runner/bundle.ts";

const children: ChildProcess[] = [];

export function killCallers(): void {
  for (const child of children.splice(0)) child.kill("SIGKILL");
}

/** Another process, which opens the same file when it is asked to. */
export function openInChild(file: string) {
  const [entry = "", ...more] = program(join(import.meta.dirname, "caller.program.ts")).reverse();
  const child = fork(entry, [file], { execArgv: more.reverse(), serialization: "advanced" });
  children.push(child);
  const pending = new Map<number, (result: unknown) => void>();
  child.on("message", ([ref, result]: [number, unknown]) => pending.get(ref)?.(result));
  child.on("error", () => {});
  return {
    pid: child.pid as number,
    ask: (method: string, id?: string) =>
      new Promise<unknown>((resolve) => {
        pending.set(pending.size, resolve);
        child.send([pending.size - 1, method, id]);
      }),
    async kill() {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    },
    async end() {
      const ended = once(child, "exit");
      child.disconnect();
      await ended;
    },
  };
}
