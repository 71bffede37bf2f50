/** The processes of a comparison, pinned to cores. */
import { type ChildProcess, fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { BENCH_HEADER, BENCH_KEY } from "../chat/proxy-request.ts";
import { type BuiltGateway, startBuilt, type Subject } from "../harness/built.ts";
import type { ChatArea, GatewayArea } from "./area.ts";

export type Name = "base" | "now" | "reference" | "sockets";
/** A value for each subject. Proxies have one only if they do the same work. */
export type Of<T> = Partial<Record<Name, T>> & Record<"base" | "now", T>;
/** The directories of both builds, in the order of their start. */
export type Dirs = Record<"base" | "now", string>;

/** Pins this process and its children to the first core, so that the subject has the second one for itself. */
export function pinToFirstCore(): boolean {
  return (
    availableParallelism() > 1 &&
    spawnSync("taskset", ["-apc", "0", String(process.pid)]).status === 0
  );
}

function pinToSecondCore<S extends Subject>(subject: S, children: ChildProcess[]): S {
  children.push(subject.process);
  spawnSync("taskset", ["-apc", "1", String(subject.process.pid)]);
  return subject;
}

/** Starts both builds with the same configuration, and adds the processes to `children`. */
export async function gatewaysOf(
  { config, files }: Pick<GatewayArea, "config" | "files">,
  dirs: Dirs,
  children: ChildProcess[],
): Promise<Of<BuiltGateway>> {
  const started = {} as Record<keyof Dirs, BuiltGateway>;
  for (const [name, dir] of Object.entries(dirs) as [keyof Dirs, string][])
    started[name] = pinToSecondCore(
      await startBuilt({ config: (await config?.()) ?? {}, files, dir }),
      children,
    );
  return started;
}

/** Starts both builds, an upstream, and the proxies. `parts` is the program of the upstream and the proxies. */
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
    pinToSecondCore(await startPart(parts, [role, String(upstream.port), ...more]), children);
  return {
    ...gateways,
    reference: await proxy("bare", ...(format === undefined ? [] : [format])),
    ...(format === undefined && { sockets: await proxy("sockets") }),
  };
}

/** Starts a process of the chat benchmarks. */
async function startPart(file: string, args: readonly string[]): Promise<Subject> {
  const child = fork(file, args, { execArgv: [] });
  const [{ port }] = (await once(child, "message")) as [{ port: number }];
  return { name: args[0]!, port, headers: BENCH_HEADER, process: child };
}
