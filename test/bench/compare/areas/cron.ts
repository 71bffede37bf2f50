/** 10,000 jobs and 1,000 polls in one gateway: at rest, at a start, and when a thousand jobs fall due at once. */
import { cpSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { temporaryDir } from "../../../support/temporary.ts";
import { bytesOf, exchange, open } from "../../chat/chat-load.ts";
import type { BuiltGateway } from "../../harness/built.ts";
import { load } from "../../harness/load.ts";
import { cpuMicros, percentile } from "../../harness/measure.ts";
import type { GatewayArea, Reading, Round } from "../area.ts";
import { startIn } from "./start.ts";

export const JOBS = 10_000;
export const POLLS = 1_000;
export const TOGETHER = 1_000;
/** In a shorter one it would be by chance what periodic work falls into it. */
const REST_MS = 30_000;
/** Until they are due. */
const MAKING_MS = 10_000;
/** Within which the engine collects what the work before has left behind: no cost of being at rest. */
const SETTLE_MS = 12_000;

const payload = { kind: "systemEvent", text: "x" };
export const CRON_CONFIG = { agents: { defaults: { heartbeat: { every: "0" } } } };

/** None of them falls due while it is looked at: they are half a year away. The polls' one check finds nothing to send. */
export async function fill(gateway: BuiltGateway): Promise<void> {
  const month = ((new Date().getUTCMonth() + 6) % 12) + 1;
  const post = (path: string, count: number, body: (n: number) => object) =>
    load(gateway, { connections: 16, count }, (socket, n) =>
      exchange(socket, bytesOf(gateway, "POST", path, body(n))),
    );
  await post("/cron/jobs", JOBS, (n) => {
    const schedule = {
      kind: "cron",
      expr: `${n % 60} ${n % 24} 1 ${month} *`,
      tz: "Europe/Berlin",
    };
    return { name: `job${n}`, schedule, payload };
  });
  const source = { kind: "file", path: "." };
  await post("/polls", POLLS, (n) => ({ name: `poll${n}`, every: "1d", source, payload }));
}

/** Processor time, %. */
export async function atRest({ process }: BuiltGateway): Promise<number> {
  await sleep(SETTLE_MS);
  const before = cpuMicros(process.pid!);
  await sleep(REST_MS);
  return ((cpuMicros(process.pid!) - before) / 1000 / REST_MS) * 100;
}

/** Of a start in a copy of its home, which the gateway holds on to. */
export async function startWith({
  home,
  dir,
}: BuiltGateway): Promise<{ ms: number; cpuMs: number }> {
  const copy = temporaryDir("portico-bench-");
  cpSync(home, copy, { recursive: true });
  return startIn(copy, dir);
}

/**
 * Makes a thousand jobs, all for one moment: how late each was told to have fired, ms, and what it cost, µs of processor
 * time. They are prepared before they are due.
 */
export async function allAtOnce(
  gateway: BuiltGateway,
): Promise<{ late: number[]; micros: number }> {
  const at = Date.now() + MAKING_MS;
  const schedule = { kind: "at", at: new Date(at).toISOString() };
  await load(gateway, { connections: 16, count: TOGETHER }, (socket, n) => {
    const job = { name: `due ${at} ${n}`, schedule, payload, missed: "run-once" };
    return exchange(socket, bytesOf(gateway, "POST", "/cron/jobs", job));
  });
  const early = at - 2_000 - Date.now();
  if (early < 0)
    throw new Error("The jobs fell due before all were made: the machine is too slow for this.");
  const late: number[] = [];
  const listening = new AbortController();
  void countFired(gateway, listening.signal, () => late.push(Date.now() - at));
  await sleep(early);
  const before = cpuMicros(gateway.process.pid!);
  for (let ms = 0; ms < 4_000 || (late.length < TOGETHER && ms < 20_000); ms += 500)
    await sleep(500);
  listening.abort();
  if (late.length < TOGETHER) throw new Error(`only ${late.length} of ${TOGETHER} jobs fired`);
  return { late, micros: (cpuMicros(gateway.process.pid!) - before) / TOGETHER };
}

async function countFired(
  { port, headers }: BuiltGateway,
  signal: AbortSignal,
  fired: () => void,
): Promise<void> {
  const socket = await open({ port });
  signal.addEventListener("abort", () => socket.destroy());
  let held = "";
  socket.on("data", (bytes) => {
    const parts = (held + bytes.toString("latin1")).split("event: cron:fired");
    held = (parts.at(-1) ?? "").slice(-20);
    for (const _ of parts.slice(1)) fired();
  });
  socket.write(`GET /events HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n${headers}\r\n`);
}

async function begin(gateway: BuiltGateway): Promise<Round> {
  await fill(gateway);
  return async (): Promise<Reading> => {
    const { late, micros } = await allAtOnce(gateway);
    const start = await startWith(gateway);
    return {
      "due at once, CPU µs": micros,
      "the same, late, p50 ms": percentile(late, 0.5),
      "the same, late, p99 ms": percentile(late, 0.99),
      "start, ms": start.ms,
      "start, CPU ms": start.cpuMs,
      "CPU at rest, %": await atRest(gateway),
    };
  };
}

export const cronArea: GatewayArea = {
  name: "cron",
  what: `${JOBS} jobs and ${POLLS} polls; ${TOGETHER} jobs due at once`,
  config: () => CRON_CONFIG,
  begin,
  rounds: 4,
  warmUps: 0, // a round takes a minute
};
