/** A response that exceeds the shutdown time-out ends with an error in the format of its route. */
import * as assert from "uvu/assert";
import { startGateway } from "../../../support/gateway.ts";
import { suite } from "../../../support/suite.ts";

const test = suite("responses that last longer than a shutdown");

const content = "word ".repeat(500);
const messages = [{ role: "user", content }];
const forms: Record<string, { body: object; says: RegExp }> = {
  "/v1/chat/completions": { body: { messages }, says: /"code":"service_unavailable"/ },
  "/v1/messages": {
    body: { messages, max_tokens: 9000 },
    says: /event: error\ndata: .*"overloaded_error"/,
  },
  "/v1/responses": { body: { input: content }, says: /event: response\.failed/ },
};

test("a stream ends with an error event, a response that has not begun is 503", async () => {
  const gateway = await startGateway({
    config: {
      gateway: { shutdownTimeoutMs: 100 },
      channels: { slow: { provider: "echo", delayMs: 60 } },
    },
  });
  const ask = (path: string, stream: boolean) =>
    gateway.request("POST", path, { ...forms[path]?.body, model: "slow/echo", stream });
  const whole = Object.keys(forms).map((path) => ask(path, false));
  const streams = await Promise.all(Object.keys(forms).map((path) => ask(path, true)));
  const [texts] = await Promise.all([
    Promise.all(streams.map((response) => response.text())),
    gateway.stop(),
  ]);
  for (const [i, { says }] of Object.values(forms).entries())
    assert.match(texts[i] as string, says);
  for (const response of await Promise.all(whole)) {
    assert.equal([response.status, response.headers.get("retry-after")], [503, "1"]);
    assert.match(await response.text(), "The gateway stopped before it could respond.");
  }
});

test.run();
