/** The test of a channel: which model it asks for a word. */
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
  assert.match(JSON.stringify(error), "`authorization` has a character that headers cannot have");
  await gateway.stop();
});

test.run();
