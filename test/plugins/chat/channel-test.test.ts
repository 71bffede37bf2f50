/** `POST /channels/:name/test`: what is wrong with a channel is said as it is. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { json } from "../../support/upstreams/upstream.ts";

const test = suite("a channel's test");
let up: Server;
let gateway: InProcessGateway;
const refusal = { error: { message: "Incorrect API key", type: "invalid_request_error", code: "invalid_api_key" } };

test.before(async () => {
  up = createServer((_, res) => json(res, refusal, 401));
  await new Promise<void>((resolve) => up.listen(0, "127.0.0.1", resolve));
  const { port } = up.address() as AddressInfo;
  gateway = await startGateway({
    config: { channels: { main: { provider: "openai", baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: "sk-wrong" } } },
  });
});
test.after(async () => {
  await gateway?.stop();
  up?.close();
});

test("a refused key shows as such, whether or not a model is named", async () => {
  for (const body of [undefined, { model: "gpt-4o" }]) {
    const tested = await gateway.json("POST", "/channels/main/test", body);
    assert.is(tested.ok, false);
    assert.match(tested.modelsError, "refused the gateway's key: Incorrect API key");
    assert.match(tested.error, "refused the gateway's key: Incorrect API key");
  }
});

test.run();
