import { HumanMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import OpenAI from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { asJson } from "../../support/target.ts";
import { z } from "zod";
import { readConversation } from "../../../plugins/responses/chat-request.ts";
import { readItems } from "../../../plugins/responses/items.ts";
import { Reading } from "../../../plugins/responses/reading.ts";
import { ToolTable } from "../../../plugins/responses/tools/tool-table.ts";
import { readSettings } from "../../../plugins/responses/request.ts";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { scriptedHook } from "../../support/hook-files.ts";
import { openai } from "../../support/upstreams/openai.ts";
import { type FakeProvider, startProvider } from "../../support/upstreams/server.ts";

const test = suite("responses");
let gateway: InProcessGateway;
let client: OpenAI;
let up: FakeProvider;

/** Two client keys, as a plugin that keeps keys would recognise them. */
const keys = `
import { definePlugin } from "portico";
export default definePlugin({
  name: "two-keys",
  setup(ctx) {
    ctx.add("authenticator", {
      name: "two-keys",
      authenticate: (token) => (/^key-\\w+$/.test(token) ? { kind: "key", key: token.slice(4) } : undefined),
    });
  },
});
`;
test.before(async () => {
  up = await startProvider(openai);
  gateway = await startGateway({
    config: { channels: { up: { ...openai.channel(up.root), maxRetries: 0 } } },
    files: { "plugins/two-keys/plugin.ts": keys, ...scriptedHook },
  });
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.token, maxRetries: 0 });
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});
test.before.each(() => {
  up.views.length = 0;
  up.seen.length = 0;
  up.next = { answer: { text: ["Hello"] } };
});

async function raised(work: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  try {
    await work;
  } catch (error) {
    return error as InstanceType<typeof OpenAI.APIError>;
  }
  throw new Error("nothing was raised");
}

test("previous_response_id continues a conversation, without its earlier instructions", async () => {
  const model = "up/gpt-4o";
  const first = await client.responses.create({ model, instructions: "Be kind.", input: "One" });
  const stream = await client.responses.create({
    model,
    input: "Two",
    previous_response_id: first.id,
    stream: true,
  });
  let second = "";
  for await (const event of stream)
    if (event.type === "response.completed") second = event.response.id;
  // The last event came after the response was kept.
  const third = await client.responses.create({
    model,
    input: "Three",
    previous_response_id: second,
  });
  assert.is(third.previous_response_id, second);
  assert.is(up.views[0]!.system, "Be kind.");
  assert.is(up.views[2]!.system, "");
  assert.equal(
    up.views[2]!.turns.map((turn) => `${turn.role}:${turn.text}`),
    ["user:One", "assistant:Hello", "user:Two", "assistant:Hello", "user:Three"],
  );
});

test("stored responses can be read, listed and deleted, and others are not found", async () => {
  const stored = await client.responses.create({
    model: "echo",
    input: "Hi",
    metadata: { a: "b" },
  });
  const { output_text: _, ...plain } = stored;
  const read = await client.responses.retrieve(stored.id);
  assert.equal(
    JSON.parse(JSON.stringify({ ...read, output_text: undefined })),
    JSON.parse(JSON.stringify(plain)),
  );
  assert.equal(read.metadata, { a: "b" });
  const { data } = await client.responses.inputItems.list(stored.id);
  assert.equal((data[0] as { content: unknown }).content, [{ type: "input_text", text: "Hi" }]);
  const streamed = await raised(client.responses.retrieve(stored.id, { stream: true }));
  assert.equal([streamed.status, streamed.param], [400, "stream"]);
  await client.responses.delete(stored.id);
  for (const id of [stored.id, "resp_00", "nonsense"])
    assert.instance(await raised(client.responses.retrieve(id)), OpenAI.NotFoundError);
  const error = await raised(
    client.responses.create({ model: "echo", input: "Hi", previous_response_id: stored.id }),
  );
  assert.equal(
    [error.status, error.code, error.param],
    [400, "previous_response_not_found", "previous_response_id"],
  );
  const unkept = await client.responses.create({ model: "echo", input: "Hi", store: false });
  assert.is((unkept as { store?: boolean }).store, false);
  assert.instance(await raised(client.responses.retrieve(unkept.id)), OpenAI.NotFoundError);
});

test("a client's responses are its own", async () => {
  const clientOf = (apiKey: string) =>
    new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 });
  const stored = await clientOf("key-ann").responses.create({ model: "echo", input: "secret" });
  await clientOf("key-ann").responses.retrieve(stored.id);
  for (const other of [clientOf("key-bob"), client]) {
    assert.instance(await raised(other.responses.retrieve(stored.id)), OpenAI.NotFoundError);
    assert.instance(await raised(other.responses.delete(stored.id)), OpenAI.NotFoundError);
    assert.instance(
      await raised(
        other.responses.create({ model: "echo", input: "x", previous_response_id: stored.id }),
      ),
      OpenAI.BadRequestError,
    );
    assert.instance(
      await raised(
        other.responses.create({
          model: "echo",
          input: [{ type: "item_reference", id: stored.output[0]!.id! }],
        }),
      ),
      OpenAI.BadRequestError,
    );
  }
  await clientOf("key-ann").responses.delete(stored.id);
});

test("a referenced item is taken from the stored responses", async () => {
  const model = "up/gpt-4o";
  const { output } = await client.responses.create({ model, input: "One" });
  await client.responses.create({
    model,
    input: [
      { role: "user", content: "One" },
      { type: "item_reference", id: output[0]!.id! },
      { role: "user", content: "Two" },
    ],
  });
  assert.equal(
    up.views[1]!.turns.map((turn) => turn.text),
    ["One", "Hello", "Two"],
  );
});

test("storeDays 0 keeps nothing", async () => {
  const own = await startGateway({ config: { responses: { storeDays: 0 } } });
  try {
    const stored = await own.json("POST", "/v1/responses", { model: "echo", input: "Hi" });
    assert.is(stored.store, false);
    assert.is((await own.request("GET", `/v1/responses/${stored.id}`)).status, 404);
  } finally {
    await own.stop();
  }
});

test("hooks see, change, answer, refuse and extend these messages like all others", async () => {
  for (const stream of [false, true]) {
    const text = async (input: string, model = "echo") => {
      const response = await gateway.request("POST", "/v1/responses", { model, input, stream });
      return [response.status, await response.text()] as const;
    };
    assert.match((await text("reply please"))[1], "by a hook");
    const [status, blocked] = await text("block please");
    assert.equal([status, JSON.parse(blocked).error.code], [403, "blocked_by_hook"]);
    assert.match((await text("change please"))[1], '"text":"changed"');
    assert.match((await text("push please", "up/gpt-4o"))[1], '"text":"first\\n\\nHello"');
  }
});

test("structured output, by the package's own helper", async () => {
  const response = await client.responses.parse({
    model: "echo",
    input: "Give me one",
    text: { format: zodTextFormat(z.object({ city: z.string(), days: z.number() }), "weather") },
  });
  assert.equal(response.output_parsed, { city: "", days: 0 });
});

test("LangChain works with this format, tools included", async () => {
  const chat = new ChatOpenAI({
    model: "up/gpt-4o",
    apiKey: gateway.token,
    configuration: { baseURL: `${gateway.url}/v1` },
    useResponsesApi: true,
    maxRetries: 0,
  });
  assert.is((await chat.invoke("Hi")).text, "Hello");
  let text = "";
  for await (const part of await chat.stream("Hi")) text += part.text;
  assert.is(text, "Hello");
  up.next = { answer: { calls: [{ name: "get_weather", args: { city: "Rome" } }] } };
  const bound = chat.bindTools([
    {
      type: "function",
      function: { name: "get_weather", parameters: { type: "object", properties: {} } },
    },
  ]);
  const message = await bound.invoke([new HumanMessage("Weather?")]);
  assert.equal(
    message.tool_calls?.map(({ name, args }) => [name, args]),
    [["get_weather", { city: "Rome" }]],
  );
});

test("custom tools go as functions of one text, and come back as what they are", async () => {
  const tools: OpenAI.Responses.Tool[] = [
    {
      type: "custom",
      name: "patch",
      description: "Edits",
      format: { type: "grammar", syntax: "lark", definition: "start: X" },
    },
  ];
  const model = "up/gpt-4o";
  up.next = { answer: { calls: [{ name: "patch", args: { input: "*** Begin" } }] } };
  const whole = await client.responses.create({ model, tools, input: "Edit" });
  const stream = client.responses.stream({ model, tools, input: "Edit" });
  const types: string[] = [];
  for await (const event of stream) types.push(event.type);
  const streamed = await stream.finalResponse();
  assert.equal(types.slice(2, -1), [
    "response.output_item.added",
    "response.custom_tool_call_input.delta",
    "response.custom_tool_call_input.done",
    "response.output_item.done",
  ]);
  for (const { output } of [whole, streamed]) {
    const call = output[0] as OpenAI.Responses.ResponseCustomToolCall;
    assert.equal([call.type, call.name, call.input], ["custom_tool_call", "patch", "*** Begin"]);
  }
  const sent = up.seen[0]!.body.tools[0].function;
  assert.is(sent.description, "Edits\n\nThe input must follow this grammar (lark):\nstart: X");
  assert.equal(sent.parameters.required, ["input"]);
  up.next = { answer: { text: ["Done"] } };
  const call = streamed.output[0] as OpenAI.Responses.ResponseCustomToolCall;
  await client.responses.create({
    model,
    tools,
    previous_response_id: streamed.id,
    input: [{ type: "custom_tool_call_output", call_id: call.call_id, output: "ok" }],
  });
  const turns = up.views.at(-1)!.turns;
  assert.equal(turns[1]!.calls[0]!.args, { input: "*** Begin" });
  assert.equal(turns[2]!.results, [{ id: call.call_id, text: "ok" }]);
});

test("responses name the channel and the dropped members, and errors have OpenAI's format", async () => {
  const lost = {
    truncation: "auto",
    max_tool_calls: 3,
    frequency_penalty: 0.5,
    made_up: 1,
    seed: null,
  };
  const echoed = {
    metadata: { a: "b" },
    store: false,
    include: ["reasoning.encrypted_content"],
    background: false,
  };
  const response = await gateway.request("POST", "/v1/responses", {
    model: "echo",
    input: "Hi",
    ...lost,
    ...echoed,
  });
  assert.is(response.headers.get("x-portico-channel"), "echo");
  assert.is(response.headers.get("x-portico-dropped"), "truncation, max_tool_calls, made_up");
  const bad = await gateway.request("POST", "/v1/responses", {
    model: "echo",
    input: [{ type: "telepathy_call" }],
  });
  assert.equal(
    ((await bad.json()) as { error: { param: string; code: string } }).error.param,
    "input[0].type",
  );
  assert.is(
    (await gateway.request("POST", "/v1/responses", { model: "echo", input: "x" }, { token: null }))
      .status,
    401,
  );
});

test("an invalid request is refused with the position of the error", async () => {
  const paramOf = async (body: object): Promise<unknown> => {
    const response = await gateway.request("POST", "/v1/responses", { model: "echo", ...body });
    const { error } = (await response.json()) as { error: { param?: unknown } };
    return response.status === 400 ? error.param : response.status;
  };
  const rows: [object, string][] = [
    [{ model: "" }, "model"],
    [{ input: undefined }, "input"],
    [{ input: [] }, "input"],
    [{ input: 3 }, "input"],
    [{ input: [3] }, "input[0]"],
    [{ stream: "yes" }, "stream"],
    [{ store: 1 }, "store"],
    [{ background: true }, "background"],
    [{ background: "no" }, "background"],
    [{ metadata: [] }, "metadata"],
    [{ metadata: "x" }, "metadata"],
    [{ metadata: { a: 1 } }, "metadata.a"],
    [{ truncation: {} }, "truncation"],
    [{ conversation: "c" }, "conversation"],
    [{ prompt: { id: "p" } }, "prompt"],
    [{ max_output_tokens: 0 }, "max_output_tokens"],
    [{ temperature: 3 }, "temperature"],
    [{ tools: [{ type: "telepathy" }] }, "tools[0].type"],
    [{ tools: [{ type: "namespace", name: "n" }] }, "tools[0].tools"],
    [
      { tools: [{ type: "namespace", name: "n", tools: [{ type: "function" }] }] },
      "tools[0].tools[0].name",
    ],
    [{ tools: [{ type: "web_search" }], tool_choice: "required" }, "tool_choice"],
    [{ tools: [{ type: "mcp" }], tool_choice: { type: "mcp" } }, "tool_choice"],
    [{ tool_choice: "sometimes" }, "tool_choice"],
    [{ presence_penalty: 3 }, "presence_penalty"],
    [{ tools: [{ type: "function" }] }, "tools[0].name"],
    [
      { tools: [{ type: "function", name: "a" }], tool_choice: { type: "file_search" } },
      "tool_choice",
    ],
    [{ text: { format: { type: "json_schema", schema: {} } } }, "text.format.name"],
    [{ text: { format: { type: "xml" } } }, "text.format.type"],
    [{ reasoning: { effort: 1 } }, "reasoning.effort"],
  ];
  for (const [change, param] of rows)
    assert.is(await paramOf({ input: "Hi", ...change }), param, JSON.stringify(change));
  const items: [object, string][] = [
    [{ role: "robot", content: "" }, "input[0].role"],
    [{ role: "user" }, "input[0].content"],
    [{ role: "user", content: [{ type: "input_text" }] }, "input[0].content[0].text"],
    [
      { role: "user", content: [{ type: "input_image", file_id: "f" }] },
      "input[0].content[0].image_url",
    ],
    [{ role: "user", content: [{ type: "video" }] }, "input[0].content[0].type"],
    [{ type: "function_call", call_id: "a" }, "input[0].name"],
    [{ type: "function_call_output", call_id: "a" }, "input[0].output"],
    [{}, "input[0].type"],
  ];
  for (const [item, param] of items)
    assert.is(await paramOf({ input: [item] }), param, JSON.stringify(item));
});

test("settings become the members of a chat request", () => {
  const input = [{ role: "user", content: "Hi" }];
  const read = (body: object): Record<string, any> => {
    const request = { model: "m", input, ...body };
    const { toolMembers } = readConversation(
      request,
      { instructions: undefined, earlier: [], input },
      new Reading(),
    );
    return asJson({ ...readSettings(request, new Reading()).request, ...toolMembers });
  };
  const tools = [{ type: "function", name: "a", parameters: { type: "object" }, strict: true }];
  assert.equal(read({ tools }).tools, [
    { type: "function", function: { name: "a", parameters: { type: "object" }, strict: true } },
  ]);
  const choice = (tool_choice: unknown) => read({ tools, tool_choice })["tool_choice"];
  assert.is(choice("required"), "required");
  assert.equal(choice({ type: "function", name: "a" }), {
    type: "function",
    function: { name: "a" },
  });
  assert.equal(
    choice({ type: "allowed_tools", mode: "required", tools: [{ type: "function", name: "a" }] }),
    {
      type: "allowed_tools",
      allowed_tools: { mode: "required", tools: [{ type: "function", function: { name: "a" } }] },
    },
  );
  assert.is(read({ tools, parallel_tool_calls: false })["parallel_tool_calls"], false);
  assert.is(read({ reasoning: { effort: "low" } })["reasoning_effort"], "low");
  assert.is(read({ max_output_tokens: 9 })["max_completion_tokens"], 9);
  assert.equal(
    read({ text: { verbosity: "low", format: { type: "json_object" } } })["response_format"],
    {
      type: "json_object",
    },
  );
  assert.equal(
    [
      read({ include: ["message.output_text.logprobs"] })["logprobs"],
      read({ top_logprobs: 2 })["top_logprobs"],
    ],
    [true, 2],
  );
});

test("consecutive items of the assistant become one message; results and their images follow", () => {
  const url = "data:image/png;base64,AA";
  const messages = readItems(
    [
      { role: "developer", content: [{ type: "input_text", text: "D" }] },
      { role: "user", content: "U" },
      { type: "reasoning", summary: [{ type: "summary_text", text: "hm" }] },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "A" }] },
      { type: "function_call", call_id: "1", name: "f", arguments: "{}" },
      { type: "function_call", call_id: "2", name: "g", arguments: "{}" },
      { type: "function_call_output", call_id: "1", output: "r1" },
      {
        type: "function_call_output",
        call_id: "2",
        output: [
          { type: "input_text", text: "r2" },
          { type: "input_image", image_url: url },
        ],
      },
      { type: "message", role: "assistant", content: [{ type: "refusal", refusal: "no" }] },
    ],
    { pathOf: (i) => `input[${i}]`, tools: new ToolTable(), reading: new Reading() },
  );
  const fn = (id: string, name: string) => ({
    id,
    type: "function",
    function: { name, arguments: "{}" },
  });
  assert.equal(asJson(messages), [
    { role: "developer", content: "D" },
    { role: "user", content: "U" },
    {
      role: "assistant",
      content: "A",
      reasoning_content: "hm",
      tool_calls: [fn("1", "f"), fn("2", "g")],
    },
    { role: "tool", tool_call_id: "1", content: "r1" },
    { role: "tool", tool_call_id: "2", content: "r2" },
    {
      role: "user",
      content: [
        { type: "text", text: "From the result of the tool call 2:" },
        { type: "image_url", image_url: { url } },
      ],
    },
    { role: "assistant", content: null, refusal: "no" },
  ]);
});

test.run();
