import { test } from "../../support/suite.ts";
import {
  applyChatRules,
  type RuleChat,
  type RuleTarget,
} from "../../../plugins/provider-kit/index.ts";
import * as assert from "uvu/assert";
import { azure } from "../../../plugins/provider-azure/wire.ts";
import { asJson, makeTarget } from "../../support/target.ts";

const v1 = makeTarget({ baseUrl: "https://r.openai.azure.com", model: "gpt-4o" });
const classic = makeTarget({
  ...v1,
  model: "my deployment",
  options: { apiVersion: "2024-10-21" },
});
const request = {
  model: "x",
  messages: [{ role: "user", content: "Hi" }],
  seed: 1,
  something: true,
};

test("addresses: v1 without a version, classic with one", async () => {
  assert.is(
    (await azure.encode(request, v1)).url,
    "https://r.openai.azure.com/openai/v1/chat/completions",
  );
  assert.is(
    (await azure.encode(request, classic)).url,
    "https://r.openai.azure.com/openai/deployments/my%20deployment/chat/completions?api-version=2024-10-21",
  );
  assert.is(azure.passThrough?.(classic, request)?.url, (await azure.encode(request, classic)).url);
  assert.is(azure.listModels!.encode(v1).url, "https://r.openai.azure.com/openai/v1/models");
  assert.is(
    azure.listModels!.encode(classic).url,
    "https://r.openai.azure.com/openai/models?api-version=2024-10-21",
  );
  const embed = await azure.embeddings!.encode({ input: "a", model: "x" }, v1);
  assert.is(embed.url, "https://r.openai.azure.com/openai/v1/embeddings");
  assert.equal(JSON.parse(String(embed.body)), { input: "a", model: "gpt-4o" });
});

test("fields go through, the deployment is the model", async () => {
  const sent = await azure.encode(request, v1);
  assert.equal(JSON.parse(String(sent.body)), { ...request, model: "gpt-4o" });
  assert.equal(sent.dropped, []);
});

test("a key has its own header, a token is a bearer, the channel's headers come on top", async () => {
  const headers = async (apiKey: string) =>
    (await azure.encode(request, { ...v1, apiKey, headers: { a: "b" } })).headers;
  assert.equal(await headers("k"), { "content-type": "application/json", "api-key": "k", a: "b" });
  assert.is((await headers("eyJhbGciOi")).authorization, "Bearer eyJhbGciOi");
});

test("a prompt that a filter blocks stays Azure's own 400", () => {
  const body = {
    error: {
      message: "filtered",
      type: null,
      param: "prompt",
      code: "content_filter",
      status: 400,
    },
  };
  assert.equal(asJson(azure.error(400, {}, Buffer.from(JSON.stringify(body)))), {
    kind: "request",
    message: "filtered",
    code: "content_filter",
    param: "prompt",
  });
  assert.is(azure.error(401, {}, Buffer.from('{"statusCode":401,"message":"no"}')).kind, "auth");
});

test("changed fields are reported: max_tokens of reasoning models, and signatures of others", () => {
  const apply = (body: RuleChat, target: RuleTarget) =>
    applyChatRules(azure.rules ?? [], body, { target });
  const reasoning = { ...v1, model: "gpt-5-mini" };
  const limited = { ...request, max_tokens: 5 };
  assert.is(apply(limited, v1).request, limited);
  const { request: renamed, changed } = apply(limited, reasoning);
  assert.equal([renamed["max_tokens"], renamed["max_completion_tokens"]], [undefined, 5]);
  assert.equal(changed, ["limit-name max_tokens"]);

  const extra_content = { google: { thought_signature: "s" } };
  const call = { id: "call_1", type: "function", function: { name: "now", arguments: "{}" } };
  const custom = { id: "call_2", type: "custom", custom: { name: "grep", input: "x" } };
  const message = {
    role: "assistant",
    content: null,
    reasoning_content: "hm",
    extra_content,
    tool_calls: [{ ...call, extra_content }, custom],
  };
  const signed = { ...request, messages: [...request.messages, message] };
  const bare = apply(signed, v1);
  assert.equal(bare.request.messages[1], {
    role: "assistant",
    content: null,
    tool_calls: [call, custom],
  });
  assert.is(bare.changed.length, 3);
});

test.run();
