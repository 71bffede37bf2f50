/** A gateway with one upstream, for the tests of `POST /v1/chat/completions`. */
import type { Test } from "uvu";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import {
  completion,
  hello,
  json,
  startUpstream,
  stream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";

export let up: Upstream;
export let gateway: InProcessGateway;
export const hi = [{ role: "user", content: "hi" }];
export const ask = (body: object, headers: Record<string, string> = {}) =>
  gateway.request("POST", "/v1/chat/completions", { messages: hi, ...body }, { headers });

export const mainChannel = () => ({
  provider: "openai",
  baseUrl: `${up.url}/`,
  apiKey: "sk-main",
  headers: { "X-Extra": "1" },
  maxRetries: 0,
});

/** Starts both before the suite's tests and stops them afterwards; the upstream replies hello, unless a test sets another response. */
export function onScene(test: Test): void {
  test.before(async () => {
    up = await startUpstream((_, res) => json(res, completion("Hello")), {
      models: ["gpt-x", "org/deep-model", ""],
    });
    gateway = await startGateway({
      config: {
        channels: {
          main: mainChannel(),
          off: { provider: "openai", baseUrl: up.url, models: ["gone"], enabled: false },
        },
        models: { fast: "main/gpt-x", chain: { targets: ["nowhere/x", "fast"] } },
      },
    });
  });
  test.before.each(() => {
    up.seen.length = 0;
    up.answer = (request, res) =>
      request.body.stream ? stream(res, ...hello) : json(res, completion("Hello"));
  });
  test.after(async () => {
    await gateway?.stop();
    await up?.close();
  });
}
