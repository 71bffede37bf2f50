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
  const asked = new Map<number, (result: unknown) => void>();
  child.on("message", ([ref, result]: [number, unknown]) => asked.get(ref)?.(result));
  child.on("error", () => {});
  return {
    pid: child.pid as number,
    ask: (what: string, id?: string) =>
      new Promise<unknown>((resolve) => {
        asked.set(asked.size, resolve);
        child.send([asked.size - 1, what, id]);
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
