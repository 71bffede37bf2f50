/** Events from outside, each of which is on disk before it is acknowledged. */
import { encodeRequest, exchange } from "../../chat/chat-load.ts";
import type { Subject } from "../../harness/built.ts";
import { type Load, type LoadOptions, load } from "../../harness/load.ts";
import { percentile } from "../../harness/measure.ts";
import { startPostgres } from "../../../support/machine/postgres.ts";
import type { GatewayArea, Reading } from "../area.ts";

const TOKEN = "bench-token";
export const WAKES = {
  agents: { defaults: { heartbeat: { every: "0" } } },
  webhooks: { token: TOKEN, rateLimit: { maxRequests: 1_000_000_000, windowMs: 60_000 } },
};
const BODY = { text: "the build is red", metadata: { source: "ci", event: "build", run: 4711 } };

const HEADERS = `authorization: Bearer ${TOKEN}\r\n`;
const ROUND_MS = 400;

/** Measures wakes. `subject` is a gateway, or a server that accepts the same requests. */
export async function wakes(subject: Subject, connections: number): Promise<Reading> {
  const { perSecond, micros, times } = await send(subject, { connections, ms: ROUND_MS });
  return { "wakes/s": perSecond, "CPU µs/wake": micros, "p99 ms": percentile(times, 0.99) };
}

/** Sends `count` wakes, whatever time that takes. */
export async function warmUp(subject: Subject, connections: number, count: number): Promise<void> {
  await send(subject, { connections, count });
}

function send(subject: Subject, options: LoadOptions): Promise<Load> {
  const request = encodeRequest({ ...subject, headers: HEADERS }, "POST", "/hooks/wake", BODY);
  return load(subject, options, (socket) => exchange(socket, request));
}

/** A server for all gateways, each of which has its own schema in it. */
let postgres: ReturnType<typeof startPostgres> | undefined;
async function onPostgres(): Promise<object> {
  postgres ??= startPostgres();
  return { ...WAKES, store: { url: (await postgres).emptyUrl() } };
}

const wakesOver = (connections: number) => (gateway: Subject) => () => wakes(gateway, connections);
const config = () => WAKES;

export const webhookAreas: readonly GatewayArea[] = [
  { name: "wake", what: "durable wakes, 1 connection", config, begin: wakesOver(1) },
  { name: "wakes", what: "durable wakes, 64 connections", config, begin: wakesOver(64) },
  { name: "postgres", what: "the same into PostgreSQL", config: onPostgres, begin: wakesOver(64) },
];
