/** Tokens counted beforehand, and conversations that are compacted, over a channel that has neither. */
import * as assert from "uvu/assert";
import { readNamedEvents } from "../../support/chunks.ts";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import { openai } from "../../support/upstreams/openai.ts";
import { type FakeProvider, startProvider } from "../../support/upstreams/server.ts";

const test = suite("responses compaction");
let gateway: InProcessGateway;
let up: FakeProvider;

test.before(async () => {
  up = await startProvider(openai);
  gateway = await startGateway({
    config: { channels: { up: { ...openai.channel(up.root), models: ["gpt-4o"], maxRetries: 0 } } },
  });
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});
test.before.each(() => {
  up.views.length = 0;
  up.next = { answer: { text: ["The user ", "likes tea."] } };
});

const model = "up/gpt-4o";
const conversation = [
  { type: "message", role: "user", content: "I like tea" },
  { type: "function_call", call_id: "c1", name: "brew", arguments: '{"cups":2}' },
  { type: "function_call_output", call_id: "c1", output: "Brewed." },
  { type: "message", role: "assistant", content: [{ type: "output_text", text: "Here." }] },
];

test("a compacted conversation is a summary that the gateway understands later", async () => {
  const compacted = await gateway.json("POST", "/v1/responses/compact", {
    model,
    instructions: "Be kind",
    input: conversation,
  });
  assert.is(compacted.object, "response.compaction");
  assert.is(compacted.usage.input_tokens, 20);
  assert.equal(
    compacted.output.map((item: any) => [item.type, item.role]),
    [
      ["message", "user"],
      ["compaction", undefined],
    ],
  );
  const prompt = up.views[0]!.turns[0]!.text;
  for (const text of ["I like tea", "brew", '{"cups":2}', "Brewed.", "Here."])
    assert.ok(prompt.includes(text), text);
  const item = compacted.output.at(-1);
  assert.match(item.id, /^cmp_/);
  const next = [item, { role: "user", content: "Another one" }];
  await gateway.json("POST", "/v1/responses", { model, input: next });
  const { turns } = up.views.at(-1)!;
  assert.match(turns[0]!.text, /The user likes tea\./);
  assert.is(turns.at(-1)!.text, "Another one");
});

test("a stored conversation is compacted by its last response", async () => {
  const first = await gateway.json("POST", "/v1/responses", { model, input: "I like milk" });
  const body = { model, previous_response_id: first.id, input: "And sugar" };
  await gateway.json("POST", "/v1/responses/compact", body);
  assert.match(up.views.at(-1)!.turns[0]!.text, /I like milk[\s\S]*And sugar/);
});

test("a request that ends with a compaction trigger receives the item", async () => {
  const input = [...conversation, { type: "compaction_trigger" }];
  const whole = await gateway.json("POST", "/v1/responses", { model, input });
  assert.equal(
    whole.output.map((item: any) => item.type),
    ["compaction"],
  );
  const response = await gateway.request("POST", "/v1/responses", { model, input, stream: true });
  const events = readNamedEvents(await response.text());
  assert.equal(
    events.map(({ type }) => type),
    [
      ...["response.created", "response.in_progress", "response.output_item.added"],
      ...["response.output_item.done", "response.completed"],
    ],
  );
  const { encrypted_content: sealed } = events.at(-1)!.response.output[0];
  assert.is(sealed, whole.output[0].encrypted_content);
  // It stands for all that was before it.
  const body = { model, previous_response_id: whole.id, input: "Go on" };
  await gateway.json("POST", "/v1/responses", body);
  const texts = up.views.at(-1)!.turns.map(({ text }) => text);
  assert.is(texts.length, 2);
  assert.match(texts[0]!, /The user likes tea\./);
});

test("a compaction fails where the model returns no summary", async () => {
  up.next = { answer: { text: [] } };
  const response = await gateway.request("POST", "/v1/responses/compact", { model, input: "Hi" });
  assert.is(response.status, 502);
});

test("tokens are estimated where the channel does not count them; an unknown model is 404", async () => {
  const count = (body: object) => gateway.json("POST", "/v1/responses/input_tokens", body);
  const short = await count({ model, input: "Hi" });
  assert.is(short.object, "response.input_tokens");
  const tools = [{ type: "function", name: "f", description: "d".repeat(400) }];
  const long = await count({ model, input: "word ".repeat(100), tools });
  assert.ok(short.input_tokens > 0 && short.input_tokens < 20, String(short.input_tokens));
  assert.ok(long.input_tokens > 200 && long.input_tokens < 300, String(long.input_tokens));
  const body = { model: "nowhere/x", input: "Hi" };
  const unknown = await gateway.request("POST", "/v1/responses/input_tokens", body);
  assert.is(unknown.status, 404);
  const bad = await gateway.request("POST", "/v1/responses/input_tokens", { model, input: 3 });
  assert.is(bad.status, 400);
});

test.run();
