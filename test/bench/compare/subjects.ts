/** The processes of a comparison, each on its core. */
import { type ChildProcess, fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { BENCH_HEADER, BENCH_KEY } from "../chat/proxy-request.ts";
import { type BuiltGateway, startBuilt, type Subject } from "../harness/built.ts";
import type { ChatArea, GatewayArea } from "./area.ts";

export type Name = "base" | "now" | "reference" | "sockets";
/** Of each subject; of proxies only where they do the same work. */
export type Of<T> = Partial<Record<Name, T>> & Record<"base" | "now", T>;
/** Of both builds, in the order in which they are to be started. */
export type Dirs = Record<"base" | "now", string>;

/** Moves this process and all it starts to the first core, so that the second is the subject's alone. */
export function pinned(): boolean {
  return (
    availableParallelism() > 1 &&
    spawnSync("taskset", ["-apc", "0", String(process.pid)]).status === 0
  );
}

function aside<S extends Subject>(subject: S, children: ChildProcess[]): S {
  children.push(subject.process);
  spawnSync("taskset", ["-apc", "1", String(subject.process.pid)]);
  return subject;
}

/** Both builds, alike; what is started is added to `children`. */
export async function gatewaysOf(
  { config, files }: Pick<GatewayArea, "config" | "files">,
  dirs: Dirs,
  children: ChildProcess[],
): Promise<Of<BuiltGateway>> {
  const started = {} as Record<keyof Dirs, BuiltGateway>;
  for (const [name, dir] of Object.entries(dirs) as [keyof Dirs, string][])
    started[name] = aside(
      await startBuilt({ config: (await config?.()) ?? {}, files, dir }),
      children,
    );
  return started;
}

/** The same with an upstream, and proxies before it. `parts`: the program that these are. */
export async function chatSubjectsOf(
  { format, client }: ChatArea,
  dirs: Dirs,
  parts: string,
  children: ChildProcess[],
): Promise<Of<Subject>> {
  const upstream = await startPart(parts, [format === undefined ? "upstream" : "formats"]);
  children.push(upstream.process);
  const baseUrl = `http://127.0.0.1:${upstream.port}${format === undefined ? "/v1" : ""}`;
  const main = { provider: format ?? "openai", baseUrl, apiKey: BENCH_KEY };
  const gateways = await gatewaysOf({ config: () => ({ channels: { main } }) }, dirs, children);
  if (client !== undefined) return gateways;
  const proxy = async (role: string, ...more: string[]) =>
    aside(await startPart(parts, [role, String(upstream.port), ...more]), children);
  return {
    ...gateways,
    reference: await proxy("bare", ...(format === undefined ? [] : [format])),
    ...(format === undefined && { sockets: await proxy("sockets") }),
  };
}

/** A part of the chat benchmark. */
async function startPart(file: string, args: readonly string[]): Promise<Subject> {
  const child = fork(file, args, { execArgv: [] });
  const [{ port }] = (await once(child, "message")) as [{ port: number }];
  return { name: args[0]!, port, headers: BENCH_HEADER, process: child };
}
