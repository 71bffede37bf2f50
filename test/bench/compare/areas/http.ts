/** Responses of the gateway itself: guards, credentials, routing, JSON. */
import { encodeRequest, exchange } from "../../chat/chat-load.ts";
import type { BuiltGateway } from "../../harness/built.ts";
import { load } from "../../harness/load.ts";
import type { GatewayArea, Reading, Round } from "../area.ts";

const CHAT = { model: "echo", messages: [{ role: "user", content: "hello ".repeat(90) }] };
/** The measured requests. The status runs much code, so fewer of its requests would mostly measure compilation. */
const REQUESTS: readonly [
  name: string,
  connections: number,
  count: number,
  method: string,
  path: string,
  body?: object,
][] = [
  ["a chat of echo", 16, 3000, "POST", "/v1/chat/completions", CHAT],
  ["/health", 16, 3000, "GET", "/health"],
  ["/v1/models", 16, 3000, "GET", "/v1/models"],
  ["/kernel/status", 16, 1000, "GET", "/kernel/status"],
  ["/kernel/status, one connection", 1, 1000, "GET", "/kernel/status"],
];

/**
 * The number of requests until V8 has optimised the code of both builds. The build with more function calls needs more of
 * them.
 */
const WARM_UP = 5_000;

async function warmUp(gateway: BuiltGateway): Promise<Round> {
  const request = encodeRequest(gateway, "GET", "/kernel/status");
  await load(gateway, { connections: 1, count: WARM_UP }, (socket) => exchange(socket, request));
  return () => run(gateway);
}

async function run(gateway: BuiltGateway): Promise<Reading> {
  const reading: Reading = {};
  for (const [name, connections, count, method, path, body] of REQUESTS) {
    const request = encodeRequest(gateway, method, path, body);
    const { micros } = await load(gateway, { connections, count }, (socket) =>
      exchange(socket, request),
    );
    reading[`${name}, CPU µs`] = micros;
  }
  return reading;
}

export const httpArea: GatewayArea = {
  name: "http",
  what: "responses of the gateway's own, 16 connections or one",
  config: () => ({ channels: { echo: { provider: "echo" } } }),
  begin: warmUp,
};
