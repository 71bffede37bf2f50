/**
 * Sends requests to an upstream over our client and over undici's in alternation, and the CPU time per request to the
 * parent.
 */
import { Pool } from "undici";
import { createUpstreamClient } from "../../../plugins/models/upstream/http/upstream-client.ts";

const CONCURRENCY = 64;
const ROUNDS = 9;
const REQUESTS = 6000;

const origin = `http://127.0.0.1:${process.argv[2]}`;
const path = "/v1/chat/completions";
const body = JSON.stringify({
  model: "bench-model",
  messages: [{ role: "user", content: "word ".repeat(40) }],
});
const headers = { "content-type": "application/json", authorization: "Bearer sk-bench" };

const client = createUpstreamClient({});
const pool = new Pool(origin, {
  connections: null,
  pipelining: 1,
  headersTimeout: 0,
  bodyTimeout: 0,
});

const clients: Record<string, () => Promise<void>> = {
  ours: () =>
    new Promise((resolve, reject) => {
      const receiver = { head() {}, data() {}, end: resolve, fail: reject };
      client.send({ method: "POST", url: origin + path, headers, body }, receiver);
    }),
  undici: () =>
    new Promise((resolve, reject) => {
      pool.dispatch(
        { path, method: "POST", headers, body },
        {
          onRequestStart() {},
          onResponseStart() {},
          onResponseData() {},
          onResponseEnd: () => resolve(),
          onResponseError: (_, error) => reject(error),
        },
      );
    }),
};

async function round(sendRequest: () => Promise<void>): Promise<number> {
  const from = process.cpuUsage();
  let remaining = REQUESTS;
  const caller = async () => {
    while (remaining-- > 0) await sendRequest();
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, caller));
  const { user, system } = process.cpuUsage(from);
  return (user + system) / REQUESTS;
}

const micros: Record<string, number[]> = Object.fromEntries(
  Object.keys(clients).map((name) => [name, []]),
);
for (let i = -2; i < ROUNDS; i++)
  for (const [name, sendRequest] of Object.entries(clients)) {
    const cpuMicros = await round(sendRequest);
    if (i >= 0) micros[name]!.push(cpuMicros);
  }
process.send?.(micros, () => process.exit());
