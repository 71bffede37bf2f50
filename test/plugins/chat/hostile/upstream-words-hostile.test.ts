/** The code, type and Retry-After of an upstream's error. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../../support/gateway.ts";

const test = suite("words of an upstream");
let handler: RequestListener;
const server = createServer((req, res) => {
  req.resume();
  handler(req, res);
});
let g: InProcessGateway;

test.before(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  g = await startGateway({
    config: { channels: { odd: { provider: "openai", baseUrl, apiKey: "k", maxRetries: 0 } } },
  });
});
test.after(async () => {
  await g.stop();
  server.closeAllConnections();
  server.close();
});

let requestCount = 0;
/** Uses another model each time, since a failed one is in cooldown. */
async function ask(stream = false) {
  const messages = [{ role: "user", content: "hi" }];
  const response = await g.request("POST", "/v1/chat/completions", {
    model: `odd/m${++requestCount}`,
    messages,
    stream,
  });
  const { error } = JSON.parse(await response.text()) as { error: Record<string, string | null> };
  return { error, retryAfter: response.headers.get("retry-after") };
}

const WAITS: Record<string, Record<string, string>> = {
  "1e308": { "retry-after": "1e308" },
  Infinity: { "retry-after": "Infinity" },
  "a hundred digits": { "retry-after": "9".repeat(100) },
  "a negative number": { "retry-after": "-5" },
  "a date in 10,000 years": { "retry-after": "Fri, 31 Dec 9999 23:59:59 GMT" },
  "a fraction": { "retry-after": "0.0001" },
  text: { "retry-after": "soon; drop table" },
  "1e308 ms": { "retry-after-ms": "1e308" },
};
for (const [what, headers] of Object.entries(WAITS))
  for (const status of [429, 503])
    test(`a ${status} that asks to wait ${what} has a whole number of seconds of at most a day`, async () => {
      handler = (_req, res) => {
        res.writeHead(status, { "content-type": "application/json", ...headers });
        res.end('{"error":{"message":"wait"}}');
      };
      const { retryAfter } = await ask();
      if (retryAfter === null) return assert.is(status, 503);
      assert.match(retryAfter, /^\d{1,5}$/);
      assert.ok(Number(retryAfter) <= 86_400, retryAfter);
    });

const CODES: Record<string, unknown> = {
  "of 100,000 characters": "a".repeat(100_000),
  "with control characters": "bad\u001b[31m\r\nx-injected: 1",
  "with markup": "<img src=x onerror=alert(1)>",
  "that is an object": { a: "b".repeat(1_000) },
  "that is no ASCII": "ошибка",
};
for (const [what, code] of Object.entries(CODES))
  for (const status of [400, 429])
    test(`a code or type ${what} is replaced in a ${status}`, async () => {
      handler = (_req, res) => {
        res.writeHead(status, { "content-type": "application/json" });
        res.end(JSON.stringify({ error: { message: "no", code, type: code, param: code } }));
      };
      const { error } = await ask(status === 400);
      assert.is(error["code"], status === 400 ? "invalid_request_error" : "rate_limit_exceeded");
      assert.match(error["type"] ?? "", /^[a-z_]+$/);
      assert.match(error["param"] ?? "", /^[\x20-\x7e]{0,256}$/);
    });

test("a well-formed code is passed on", async () => {
  for (const code of ["context_length_exceeded", "Throttling.User", "1301"]) {
    handler = (_req, res) => {
      res.writeHead(400, { "content-type": "application/json" });
      res.end(JSON.stringify({ error: { message: "no", code } }));
    };
    assert.is((await ask()).error["code"], code);
  }
});

test.run();
