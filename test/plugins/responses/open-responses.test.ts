/** What the Open Responses project demands of every server of the format. */
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import { openai } from "../../support/upstreams/openai.ts";
import { sse } from "../../support/upstreams/dialect.ts";
import { type FakeProvider, startProvider } from "../../support/upstreams/server.ts";

const test = suite("open responses");
let gateway: InProcessGateway;
let up: FakeProvider;

const citation = { start_index: 0, end_index: 5, url: "https://example.com", title: "T" };
/** As OpenAI's dialect, and a citation behind each text. */
const citing: typeof openai = {
  ...openai,
  stream: (script) =>
    openai.stream(script).flatMap((event) => {
      const isText = event.toString("utf8").includes('"Hello"');
      return isText ? [event, annotated()] : [event];
    }),
};

function annotated(): Buffer {
  const delta = { annotations: [{ type: "url_citation", url_citation: citation }] };
  const choices = [{ index: 0, delta, finish_reason: null }];
  return sse({
    id: "chatcmpl-up",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices,
  });
}

test.before(async () => {
  up = await startProvider(citing);
  gateway = await startGateway({
    config: { channels: { up: { ...openai.channel(up.root), maxRetries: 0 } } },
  });
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});
test.before.each(() => {
  up.seen.length = 0;
  up.next = { answer: { text: ["Hello"] } };
});

const REQUIRED = [
  ...["id", "object", "created_at", "completed_at", "status", "incomplete_details", "model"],
  ...["previous_response_id", "instructions", "output", "error", "tools", "tool_choice"],
  ...["truncation", "parallel_tool_calls", "text", "top_p", "presence_penalty"],
  ...["frequency_penalty", "top_logprobs", "temperature", "reasoning", "usage"],
  ...["max_output_tokens", "max_tool_calls", "store", "background", "service_tier"],
  ...["metadata", "safety_identifier", "prompt_cache_key"],
];

function assertComplete(response: any, status: string): void {
  for (const name of REQUIRED) assert.ok(name in response, name);
  assert.is(response.status, status);
  assert.is(response.completed_at === null, status !== "completed");
  assert.equal([response.presence_penalty, response.frequency_penalty], [0, 0]);
  for (const tool of response.tools)
    for (const name of ["description", "parameters", "strict"]) assert.ok(name in tool, name);
  if (status !== "completed") return;
  const { input_tokens_details: details } = response.usage;
  assert.type(details.cached_tokens, "number");
  assert.type(details.cache_write_tokens, "number");
}

interface Event {
  name: string;
  data: any;
}

async function eventsOf(body: object): Promise<Event[]> {
  const request = { model: "up/gpt-4o", stream: true, ...body };
  const response = await gateway.request("POST", "/v1/responses", request);
  const blocks = (await response.text()).split("\n\n").filter((block) => block.includes("data:"));
  return blocks.map((block) => ({
    name: /^event: (.*)$/m.exec(block)![1]!,
    data: JSON.parse(/^data: (.*)$/m.exec(block)![1]!),
  }));
}

const user = (content: unknown) => ({ type: "message", role: "user", content });
const tools = [{ type: "function", name: "get_weather", parameters: { type: "object" } }];
const image = "data:image/png;base64,iVBORw0KGgo=";
const requests: Record<string, object> = {
  text: { input: [user("Say hello")] },
  "system message": {
    input: [{ type: "message", role: "system", content: "Be brief" }, user("Hi")],
  },
  image: {
    input: [
      user([
        { type: "input_text", text: "What is it?" },
        { type: "input_image", image_url: image },
      ]),
    ],
  },
  "several turns": {
    input: [user("One"), { type: "message", role: "assistant", content: "Two" }, user("Three")],
  },
};

for (const [name, body] of Object.entries(requests)) {
  test(`a complete response object: ${name}`, async () => {
    const response = await gateway.json("POST", "/v1/responses", { model: "up/gpt-4o", ...body });
    assertComplete(response, "completed");
    assert.is(response.output[0].content[0].text, "Hello");
  });
}

test("events are numbered without a gap, and each names its type and has the whole object", async () => {
  const events = await eventsOf({ input: [user("Count")] });
  for (const [i, { name, data }] of events.entries()) {
    assert.equal([data.type, data.sequence_number], [name, i]);
    if (data.response !== undefined) assertComplete(data.response, data.response.status);
  }
  assert.equal([events[0]!.name, events.at(-1)!.name], ["response.created", "response.completed"]);
});

test("a function call, whole and streamed; tools are given back with all their members", async () => {
  up.next = { answer: { calls: [{ id: "call_1", name: "get_weather", args: { city: "Rome" } }] } };
  const body = { input: [user("Weather?")], tools };
  const response = await gateway.json("POST", "/v1/responses", { model: "up/gpt-4o", ...body });
  assertComplete(response, "completed");
  const { type, call_id: id, name, arguments: args, status } = response.output[0];
  assert.equal(
    [type, id, name, args, status],
    ["function_call", "call_1", "get_weather", '{"city":"Rome"}', "completed"],
  );
  assert.equal([response.tools[0].strict, response.tools[0].description], [null, null]);
  const names = (await eventsOf(body)).map((event) => event.name);
  for (const suffix of ["output_item.added", "function_call_arguments.delta"])
    assert.ok(names.includes(`response.${suffix}`), suffix);
  for (const type of ["function_call_arguments.done", "output_item.done"])
    assert.ok(names.includes(`response.${type}`), type);
});

test("a format is given back with all its members; penalties reach the upstream", async () => {
  const format = { type: "json_schema", name: "n", schema: { type: "object" } };
  const response = await gateway.json("POST", "/v1/responses", {
    model: "up/gpt-4o",
    input: "Hi",
    text: { format },
    presence_penalty: 0.5,
    frequency_penalty: -0.5,
  });
  assert.equal(response.text.format, { ...format, description: null, strict: null });
  assert.equal([response.presence_penalty, response.frequency_penalty], [0.5, -0.5]);
  const { presence_penalty: presence, frequency_penalty: frequency } = up.seen.at(-1)!.body;
  assert.equal([presence, frequency], [0.5, -0.5]);
});

test("citations are carried over", async () => {
  const events = await eventsOf({ input: "Cite" });
  const added = events.find(({ name }) => name === "response.output_text.annotation.added")!.data;
  assert.equal(added.annotation, { type: "url_citation", ...citation });
  assert.equal([added.annotation_index, added.content_index], [0, 0]);
  const { content } = events.at(-1)!.data.response.output[0];
  assert.equal(content[0].annotations, [{ type: "url_citation", ...citation }]);
});

test("a stream that breaks fails with a code that the format has", async () => {
  up.next = { broken: "error event", script: { text: ["A", "B"] } };
  const { name, data } = (await eventsOf({ input: "Hi" })).at(-1)!;
  assert.is(name, "response.failed");
  assertComplete(data.response, "failed");
  assert.is(data.response.error.code, "server_error");
});

test.run();
