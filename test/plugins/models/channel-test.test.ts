/** The test of a channel: which model it uses. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import * as assert from "uvu/assert";
import { startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import { completion, json, startUpstream } from "../../support/upstreams/upstream.ts";

const test = suite("the test of a channel");

test("a channel is tested with its first model for chat", async () => {
  const models = ["text-embedding-3-small", "tts-1", "gpt-4o", "claude-haiku"];
  const upstream = await startUpstream((_, res) => json(res, completion("ok")), { models });
  const base = { provider: "openai", baseUrl: upstream.url };
  const gateway = await startGateway({
    config: {
      channels: {
        all: base,
        fitting: { ...base, models: ["claude-*"] },
        named: { ...base, models: ["tts-1", "gpt-4o"] },
        speech: { ...base, models: ["tts-1"] },
      },
    },
  });
  const tested = async (name: string) => {
    const { ok, model } = await gateway.json("POST", `/channels/${name}/test`, {});
    return [ok, model];
  };
  assert.equal(await tested("all"), [true, "gpt-4o"]);
  assert.equal(await tested("fitting"), [true, "claude-haiku"]);
  assert.equal(await tested("named"), [true, "gpt-4o"]);
  assert.equal(await tested("speech"), [true, "tts-1"]);
  await gateway.stop();
  await upstream.close();
});

test("a key with a character that headers cannot have is named as the reason", async () => {
  const gateway = await startGateway({
    config: { channels: { main: { provider: "openai", apiKey: "sk-…" } } },
  });
  const { ok, error } = await gateway.json("POST", "/channels/main/test", {});
  assert.is(ok, false);
  assert.match(
    JSON.stringify(error),
    "`authorization` has a character that is not allowed in headers",
  );
  await gateway.stop();
});

test("entries of a list of models without a name are left out, and a body without a list is an error", async () => {
  /** The list of each format: with entries that are no models, and with one model. */
  const lists: [provider: string, list: unknown][] = [
    ["openai", { data: [null, 3, {}, { id: "m" }] }],
    ["azure", { data: [null, 3, {}, { id: "m" }] }],
    ["mistral", { data: [null, 3, {}, { id: "m" }] }],
    ["anthropic", { data: [null, 3, {}, { id: "m" }] }],
    ["gemini", { models: [null, 3, {}, { name: "models/m" }] }],
    ["ollama", { models: [null, 3, {}, { name: "m" }] }],
  ];
  let list: unknown;
  const server = createServer((req, res) => {
    if (req.method === "GET") res.setHeader("content-type", "application/json").end(list);
    else res.writeHead(500).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const entries = lists.map(([provider]) => [provider, { provider, baseUrl, apiKey: "k" }]);
  const gateway = await startGateway({ config: { channels: Object.fromEntries(entries) } });
  for (const [provider, body] of lists) {
    list = JSON.stringify(body);
    const { models, model } = await gateway.json("POST", `/channels/${provider}/test`, {});
    assert.equal([provider, models, model], [provider, 1, "m"]);
    for (const wrong of ['{"message":"Not here"}', "<html>", '"models"', "null", '{"data":{}}']) {
      list = wrong;
      const result = await gateway.json("POST", `/channels/${provider}/test`, {});
      assert.is(result.ok, false);
      assert.match(result.modelsError, "list of models could not be read", `${provider} ${wrong}`);
    }
  }
  await gateway.stop();
  server.close();
});

test.run();
