/** What the gateway responds by itself: guards, credentials, routing, JSON. */
import { bytesOf, exchange } from "../../chat/chat-load.ts";
import type { BuiltGateway } from "../../harness/built.ts";
import { load } from "../../harness/load.ts";
import type { GatewayArea, Reading, Round } from "../area.ts";

const CHAT = { model: "echo", messages: [{ role: "user", content: "hello ".repeat(90) }] };
/** Of the status, which many parts tell: fewer would show what it takes to compile them, and not for equally many calls. */
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

/** Until both have compiled what they run: the state that is told in more calls takes as many more to get there. */
const WARM_UP = 5_000;

async function warmed(gateway: BuiltGateway): Promise<Round> {
  const request = bytesOf(gateway, "GET", "/kernel/status");
  await load(gateway, { connections: 1, count: WARM_UP }, (socket) => exchange(socket, request));
  return () => run(gateway);
}

async function run(gateway: BuiltGateway): Promise<Reading> {
  const reading: Reading = {};
  for (const [name, connections, count, method, path, body] of REQUESTS) {
    const request = bytesOf(gateway, method, path, body);
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
  begin: warmed,
};
