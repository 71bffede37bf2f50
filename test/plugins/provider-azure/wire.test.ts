import { isUpstreamError } from "portico";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { azure } from "../../../plugins/provider-azure/wire.ts";
import { makeTarget } from "../../support/target.ts";

const v1 = makeTarget({ baseUrl: "https://r.openai.azure.com", model: "gpt-4o" });
const classic = makeTarget({ ...v1, model: "my deployment", options: { apiVersion: "2024-10-21" } });
const request = { model: "x", messages: [{ role: "user", content: "Hi" }], seed: 1, something: true };

test("addresses: v1 without a version, classic with one", async () => {
  assert.is((await azure.encode(request, v1)).url, "https://r.openai.azure.com/openai/v1/chat/completions");
  assert.is(
    (await azure.encode(request, classic)).url,
    "https://r.openai.azure.com/openai/deployments/my%20deployment/chat/completions?api-version=2024-10-21",
  );
  assert.is(azure.passThrough?.(classic, true)?.url, (await azure.encode(request, classic)).url);
  assert.is(azure.listModels!.encode(v1).url, "https://r.openai.azure.com/openai/v1/models");
  assert.is(azure.listModels!.encode(classic).url, "https://r.openai.azure.com/openai/models?api-version=2024-10-21");
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
  const body = { error: { message: "filtered", type: null, param: "prompt", code: "content_filter", status: 400 } };
  assert.equal(azure.error(400, {}, Buffer.from(JSON.stringify(body))), {
    kind: "request",
    message: "filtered",
    code: "content_filter",
    param: "prompt",
  });
  assert.is(azure.error(401, {}, Buffer.from('{"statusCode":401,"message":"no"}')).kind, "auth");
});

test("an error dressed as an answer is one", () => {
  const sent = { method: "POST" as const, url: "", headers: {}, dropped: [] };
  assert.throws(() => azure.decode!(Buffer.from('{"error":{"message":"x"}}'), sent, v1), isUpstreamError);
  assert.throws(() => azure.decode!(Buffer.from("<html>"), sent, v1), isUpstreamError);
});

test.run();
