/** 10,000 jobs and 1,000 polls in one gateway: at rest, at a start, and when a thousand jobs are due at once. */
import { cpSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { temporaryDir } from "../../../support/temporary.ts";
import { encodeRequest, exchange, open } from "../../chat/chat-load.ts";
import type { BuiltGateway } from "../../harness/built.ts";
import { load } from "../../harness/load.ts";
import { cpuMicros, percentile } from "../../harness/measure.ts";
import type { GatewayArea, Reading, Round } from "../area.ts";
import { startIn } from "./start.ts";

export const JOBS = 10_000;
export const POLLS = 1_000;
export const SIMULTANEOUS_JOBS = 1_000;
/** The measured time. In a shorter one, the share of periodic work would be random. */
const IDLE_MS = 30_000;
/** The time from the creation of the jobs until they are due. */
const CREATION_MS = 10_000;
/** The time in which the engine collects the garbage of earlier work, which is not a cost of the idle state. */
const SETTLE_MS = 12_000;

const payload = { kind: "systemEvent", text: "x" };
export const CRON_CONFIG = { agents: { defaults: { heartbeat: { every: "0" } } } };

/** Creates the jobs and polls. The jobs are due in half a year, and the only check of the polls finds nothing to send. */
export async function createEntries(gateway: BuiltGateway): Promise<void> {
  const month = ((new Date().getUTCMonth() + 6) % 12) + 1;
  const post = (path: string, count: number, body: (n: number) => object) =>
    load(gateway, { connections: 16, count }, (socket, n) =>
      exchange(socket, encodeRequest(gateway, "POST", path, body(n))),
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

/** Returns the processor usage of an idle gateway, in %. */
export async function idleCpu({ process }: BuiltGateway): Promise<number> {
  await sleep(SETTLE_MS);
  const before = cpuMicros(process.pid!);
  await sleep(IDLE_MS);
  return ((cpuMicros(process.pid!) - before) / 1000 / IDLE_MS) * 100;
}

/** Measures a start in a copy of the home, because the running gateway has locked its own. */
export async function startCopy({
  home,
  dir,
}: BuiltGateway): Promise<{ ms: number; cpuMs: number }> {
  const copy = temporaryDir("portico-bench-");
  cpSync(home, copy, { recursive: true });
  return startIn(copy, dir);
}

/**
 * Creates a thousand jobs that are due at the same time, some seconds ahead. Returns the delay in ms with which each event
 * of firing arrives, and the processor time per job in µs.
 */
export async function fireTogether(
  gateway: BuiltGateway,
): Promise<{ late: number[]; micros: number }> {
  const at = Date.now() + CREATION_MS;
  const schedule = { kind: "at", at: new Date(at).toISOString() };
  await load(gateway, { connections: 16, count: SIMULTANEOUS_JOBS }, (socket, n) => {
    const job = { name: `due ${at} ${n}`, schedule, payload, missed: "run-once" };
    return exchange(socket, encodeRequest(gateway, "POST", "/cron/jobs", job));
  });
  const remainingMs = at - 2_000 - Date.now();
  if (remainingMs < 0)
    throw new Error("The jobs fell due before all were made: the machine is too slow for this.");
  const late: number[] = [];
  const listening = new AbortController();
  void countFired(gateway, listening.signal, () => late.push(Date.now() - at));
  await sleep(remainingMs);
  const before = cpuMicros(gateway.process.pid!);
  for (let ms = 0; ms < 4_000 || (late.length < SIMULTANEOUS_JOBS && ms < 20_000); ms += 500)
    await sleep(500);
  listening.abort();
  if (late.length < SIMULTANEOUS_JOBS)
    throw new Error(`only ${late.length} of ${SIMULTANEOUS_JOBS} jobs fired`);
  return { late, micros: (cpuMicros(gateway.process.pid!) - before) / SIMULTANEOUS_JOBS };
}

async function countFired(
  { port, headers }: BuiltGateway,
  signal: AbortSignal,
  onFired: () => void,
): Promise<void> {
  const socket = await open({ port });
  signal.addEventListener("abort", () => socket.destroy());
  let tail = "";
  socket.on("data", (bytes) => {
    const parts = (tail + bytes.toString("latin1")).split("event: cron:fired");
    tail = (parts.at(-1) ?? "").slice(-20);
    for (const _ of parts.slice(1)) onFired();
  });
  socket.write(`GET /events HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n${headers}\r\n`);
}

async function begin(gateway: BuiltGateway): Promise<Round> {
  await createEntries(gateway);
  return async (): Promise<Reading> => {
    const { late, micros } = await fireTogether(gateway);
    const start = await startCopy(gateway);
    return {
      "due at once, CPU µs": micros,
      "the same, late, p50 ms": percentile(late, 0.5),
      "the same, late, p99 ms": percentile(late, 0.99),
      "start, ms": start.ms,
      "start, CPU ms": start.cpuMs,
      "CPU at rest, %": await idleCpu(gateway),
    };
  };
}

export const cronArea: GatewayArea = {
  name: "cron",
  what: `${JOBS} jobs and ${POLLS} polls; ${SIMULTANEOUS_JOBS} jobs due at once`,
  config: () => CRON_CONFIG,
  begin,
  rounds: 4,
  warmUps: 0, // a round takes a minute
};
