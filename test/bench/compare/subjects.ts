/** The processes of a comparison, each on its core. */
import { type ChildProcess, fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { startBuilt } from "../harness/built.ts";
import type { Subject } from "../chat/chat-load.ts";
import { BENCH_HEADER, BENCH_KEY } from "../chat/proxy-request.ts";

/** Moves this process and all it starts to the first core, so that the second is the subject's alone. */
export function pinned(): boolean {
  return availableParallelism() > 1 && spawnSync("taskset", ["-apc", "0", String(process.pid)]).status === 0;
}

function moveAside(child: ChildProcess): void {
  spawnSync("taskset", ["-apc", "1", String(child.pid)]);
}

/** `provider`: of the one channel. */
export async function startGateway(
  dir: string,
  { upstream, provider = "openai" }: { upstream: number; provider?: string | undefined },
  children: ChildProcess[],
): Promise<Subject> {
  const baseUrl = `http://127.0.0.1:${upstream}${provider === "openai" ? "/v1" : ""}`;
  const channels = { main: { provider, baseUrl, apiKey: BENCH_KEY } };
  const { child, port, token } = await startBuilt({ channels }, dir);
  children.push(child);
  moveAside(child);
  return { name: "portico", port, headers: `authorization: Bearer ${token}\r\n`, process: child };
}

/** A part of the chat benchmark. `aside`: on the core of what is compared. */
export async function startPart(
  file: string,
  args: string[],
  children: ChildProcess[],
  aside = true,
): Promise<Subject> {
  const child = fork(file, args, { execArgv: [] });
  children.push(child);
  const [{ port }] = (await once(child, "message")) as [{ port: number }];
  if (aside) moveAside(child);
  return { name: args[0]!, port, headers: BENCH_HEADER, process: child };
}
