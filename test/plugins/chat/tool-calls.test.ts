/** Tool calls as servers of OpenAI's format really send them, for clients of every format, whole and streamed. */
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import {
  chunk,
  data,
  DONE,
  json,
  startUpstream,
  stream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";
import { event } from "../../support/upstreams/frames.ts";

const test = suite("tool calls");
let up: Upstream;
let gateway: InProcessGateway;

test.before(async () => {
  up = await startUpstream(() => {});
  const base = { baseUrl: up.url, models: ["*"], maxRetries: 0, apiKey: "k" };
  const root = up.url.replace(/\/v1$/, "");
  const channels = {
    one: { ...base, provider: "openai", models: ["m"] },
    claude: { ...base, provider: "anthropic", baseUrl: root, idleTimeoutMs: 5000 },
    aws: { ...base, provider: "bedrock", baseUrl: root, region: "us-east-1", idleTimeoutMs: 5000 },
  };
  gateway = await startGateway({ config: { channels } });
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});

interface Called {
  id: string;
  name: string;
  args: string;
}

/** A fragment as an upstream sends it. */
interface Fragment {
  index?: number;
  id?: string;
  name?: string;
  args?: unknown;
}

const fragment = ({ index, id, name, args }: Fragment) => ({
  index,
  id,
  type: "function",
  function: { name, arguments: args },
});

function respondWithStream(fragments: readonly Fragment[]): void {
  up.answer = (_, res) =>
    stream(
      res,
      chunk({ role: "assistant", content: null }),
      ...fragments.map((part) => chunk({ tool_calls: [fragment(part)] })),
      chunk({}, "tool_calls"),
      DONE,
    );
}

function respondWhole(calls: readonly Fragment[]): void {
  const message = { role: "assistant", content: null, tool_calls: calls.map(fragment) };
  up.answer = (_, res) =>
    json(res, {
      id: "chatcmpl-1",
      object: "chat.completion",
      created: 1,
      model: "m",
      choices: [{ index: 0, message, finish_reason: "tool_calls" }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    });
}

/** How clients of each format send earlier calls with these ids, and assemble the response. */
interface Way {
  path: string;
  body(earlier: readonly string[]): object;
  whole(answer: any): Called[];
  streamed(events: readonly any[]): Called[];
}

const schema = { type: "object", properties: {} };
const ways: Record<string, Way> = {
  chat: {
    path: "/v1/chat/completions",
    body: (earlier) => ({
      model: "m",
      tools: [{ type: "function", function: { name: "calc", parameters: schema } }],
      messages: [
        { role: "user", content: "go" },
        ...earlier.flatMap((id) => [
          {
            role: "assistant",
            content: null,
            tool_calls: [fragment({ id, name: "calc", args: "{}" })],
          },
          { role: "tool", tool_call_id: id, content: "r" },
        ]),
      ],
    }),
    whole: ({ choices }) =>
      choices[0].message.tool_calls.map((call: any) => ({
        id: call.id,
        name: call.function.name,
        args: call.function.arguments,
      })),
    streamed(events) {
      const calls: Called[] = [];
      for (const event of events) {
        for (const { index, id, function: fn } of event.choices?.[0]?.delta.tool_calls ?? []) {
          assert.is.not(id, "");
          assert.is.not(fn.name, "");
          calls[index] ??= { id: "", name: "", args: "" };
          const call = calls[index];
          call.id += id ?? "";
          call.name += fn.name ?? "";
          call.args += fn.arguments ?? "";
        }
      }
      return calls;
    },
  },
  messages: {
    path: "/v1/messages",
    body: (earlier) => ({
      model: "m",
      max_tokens: 50,
      tools: [{ name: "calc", input_schema: schema }],
      messages: [
        { role: "user", content: "go" },
        ...earlier.flatMap((id) => [
          { role: "assistant", content: [{ type: "tool_use", id, name: "calc", input: {} }] },
          { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "r" }] },
        ]),
      ],
    }),
    whole: ({ content }) =>
      content
        .filter(({ type }: any) => type === "tool_use")
        .map(({ id, name, input }: any) => ({ id, name, args: JSON.stringify(input) })),
    streamed(events) {
      const calls = new Map<number, Called>();
      for (const { type, index, content_block: block, delta } of events) {
        if (type === "content_block_start" && block.type === "tool_use")
          calls.set(index, { id: block.id, name: block.name, args: "" });
        if (delta?.type === "input_json_delta") calls.get(index)!.args += delta.partial_json;
      }
      return [...calls.values()];
    },
  },
  responses: {
    path: "/v1/responses",
    body: (earlier) => ({
      model: "m",
      store: false,
      tools: [{ type: "function", name: "calc", parameters: schema }],
      input: [
        { role: "user", content: "go" },
        ...earlier.flatMap((call_id) => [
          { type: "function_call", call_id, name: "calc", arguments: "{}" },
          { type: "function_call_output", call_id, output: "r" },
        ]),
      ],
    }),
    whole: ({ output }) => callsOfOutput(output),
    streamed(events) {
      const added = events.filter(({ type }) => type === "response.output_item.added");
      for (const { item } of added) assert.is.not(item.name, "");
      const last = events.find(({ type }) => type === "response.completed");
      return callsOfOutput(last.response.output);
    },
  },
};

function callsOfOutput(output: any[]): Called[] {
  return output
    .filter(({ type }) => type === "function_call")
    .map(({ call_id: id, name, arguments: args }) => ({ id, name, args }));
}

/** The contents of the `data:` lines of a stream in any format. */
function eventsIn(text: string): any[] {
  const lines = [...text.matchAll(/^data: (.*)$/gm)].map(([, line]) => line!);
  return lines.filter((line) => line !== "[DONE]").map((line) => JSON.parse(line));
}

async function ask(way: Way, streamed: boolean, earlier: readonly string[] = []) {
  const body = { ...way.body(earlier), stream: streamed };
  const response = await gateway.request("POST", way.path, body);
  const text = await response.text();
  assert.is(response.status, 200, text);
  if (!streamed) return way.whole(JSON.parse(text));
  return way.streamed(eventsIn(text));
}

const cases: Record<string, { streamed: Fragment[]; calls: Omit<Called, "id">[] }> = {
  "parallel calls with one id": {
    streamed: [
      { index: 0, id: "call_0", name: "calc", args: '{"x":"1"}' },
      { index: 1, id: "call_0", name: "calc", args: '{"x":"2"}' },
    ],
    calls: [
      { name: "calc", args: '{"x":"1"}' },
      { name: "calc", args: '{"x":"2"}' },
    ],
  },
  "empty strings in later deltas": {
    streamed: [
      { index: 0, id: "call_1", name: "calc", args: "{" },
      { index: 0, id: "", name: "", args: '"x":"2"}' },
    ],
    calls: [{ name: "calc", args: '{"x":"2"}' }],
  },
  "a name that comes late": {
    streamed: [
      { index: 0, id: "call_1", name: "", args: "" },
      { index: 0, name: "calc", args: '{"x":"1"}' },
    ],
    calls: [{ name: "calc", args: '{"x":"1"}' }],
  },
  "a name behind arguments in several events": {
    streamed: [
      { index: 0, id: "call_1", args: "" },
      { index: 0, args: '{"x"' },
      { index: 0, args: ':"1"' },
      { index: 0, name: "calc", args: "}" },
    ],
    calls: [{ name: "calc", args: '{"x":"1"}' }],
  },
  "a name behind all arguments": {
    streamed: [
      { index: 0, id: "call_1", args: '{"x":' },
      { index: 0, args: '"1"}' },
      { index: 0, name: "calc" },
    ],
    calls: [{ name: "calc", args: '{"x":"1"}' }],
  },
  "a name in pieces": {
    streamed: [
      { index: 0, id: "call_1", name: "ca", args: "" },
      { index: 0, name: "lc" },
      { index: 0, args: '{"x":"1"}' },
    ],
    calls: [{ name: "calc", args: '{"x":"1"}' }],
  },
  "names whose pieces alternate": {
    streamed: [
      { index: 0, id: "call_1", name: "get_", args: "" },
      { index: 1, id: "call_2", name: "set_", args: "" },
      { index: 0, name: "time" },
      { index: 1, name: "clock" },
      { index: 1, args: '{"x":' },
      { index: 0, args: '{"x":' },
      { index: 1, args: '"2"}' },
      { index: 0, args: '"1"}' },
    ],
    calls: [
      { name: "get_time", args: '{"x":"1"}' },
      { name: "set_clock", args: '{"x":"2"}' },
    ],
  },
  "arguments without their last bracket": {
    streamed: [{ index: 0, id: "call_1", name: "calc", args: '{"x":"1"' }],
    calls: [{ name: "calc", args: '{"x":"1"}' }],
  },
};

for (const [wayName, way] of Object.entries(ways)) {
  for (const [name, { streamed, calls }] of Object.entries(cases)) {
    test(`${wayName}: ${name}`, async () => {
      respondWithStream(streamed);
      const receivedCalls = await ask(way, true);
      assert.equal(
        receivedCalls.map((call) => ({ name: call.name, args: call.args })),
        calls,
      );
      assert.is(
        new Set(receivedCalls.map(({ id }) => id)).size,
        calls.length,
        "each call has an id of its own",
      );
    });
  }

  test(`${wayName}: an id that the conversation already contains is replaced, whole and streamed`, async () => {
    const call = { index: 0, id: "call_0", name: "calc", args: '{"x":"1"}' };
    for (const isStream of [true, false]) {
      if (isStream) respondWithStream([call]);
      else respondWhole([call]);
      const [fresh] = await ask(way, isStream, ["call_0"]);
      assert.is.not(fresh!.id, "call_0");
      assert.match(fresh!.id, /^call_\w+$/);
      assert.equal([fresh!.name, fresh!.args], ["calc", '{"x":"1"}']);
      const [own] = await ask(way, isStream, ["call_7"]);
      assert.is(own!.id, "call_0", "an id that is new stays");
    }
  });

  test(`${wayName}: whole calls that share an id receive distinct ids`, async () => {
    respondWhole([
      { id: "call_0", name: "calc", args: '{"x":"1"}' },
      { id: "call_0", name: "calc", args: '{"x":"2"}' },
    ]);
    const calls = await ask(way, false);
    assert.equal(
      calls.map(({ args }) => args),
      ['{"x":"1"}', '{"x":"2"}'],
    );
    assert.is(new Set(calls.map(({ id }) => id)).size, 2);
  });
}

/** Each block of a message begins after the end of the previous one, and receives nothing after its own end. */
function checkBlocks(events: readonly any[]): void {
  let open: number | undefined;
  let next = 0;
  for (const { type, index } of events) {
    if (type === "content_block_start") {
      assert.equal([open, index], [undefined, next], "the block before has ended");
      open = index;
      next++;
    }
    if (type === "content_block_delta") assert.is(index, open);
    if (type === "content_block_stop") {
      assert.is(index, open);
      open = undefined;
    }
  }
  assert.is(open, undefined);
}

/** The deltas of each item of a response are what its end repeats. */
function checkItems(events: readonly any[]): void {
  const deltas = new Map<string, string>();
  for (const { type, item_id: id, delta, arguments: args, text } of events) {
    if (/(?:arguments|text)\.delta$/.test(type)) deltas.set(id, (deltas.get(id) ?? "") + delta);
    if (/(?:arguments|text)\.done$/.test(type)) assert.is(deltas.get(id) ?? "{}", args ?? text);
  }
}

const call = (part: Fragment) => ({ tool_calls: [fragment(part)] });
const mixed: Record<string, { deltas: object[]; text: string; args: string[] }> = {
  "a text between the fragments of a call": {
    deltas: [
      { content: "a" },
      call({ index: 0, id: "c1", name: "calc", args: '{"x":' }),
      { content: "\n" },
      { reasoning_content: "hm" },
      call({ index: 0, args: '"1"}' }),
      { content: "b" },
    ],
    text: "a\nb",
    args: ['{"x":"1"}'],
  },
  "two calls whose fragments alternate, and a text": {
    deltas: [
      call({ index: 0, id: "c1", name: "calc", args: '{"x":' }),
      call({ index: 1, id: "c2", name: "calc", args: '{"x":' }),
      { content: "a" },
      call({ index: 1, args: '"2"}' }),
      call({ index: 0, args: '"1"}' }),
    ],
    text: "a",
    args: ['{"x":"1"}', '{"x":"2"}'],
  },
  "three calls without arguments": {
    deltas: [0, 1, 2].map((index) => call({ index, id: `c${index}`, name: "calc", args: "" })),
    text: "",
    args: ["{}", "{}", "{}"],
  },
  "a call that is never complete": {
    deltas: [
      call({ index: 0, id: "c1", name: "calc", args: '{"x":"' }),
      { content: "a" },
      call({ index: 1, id: "c2", name: "calc", args: "{}" }),
    ],
    text: "a",
    args: ['{"x":"', "{}"],
  },
};

for (const [name, { deltas, text, args }] of Object.entries(mixed)) {
  test(`messages and responses: ${name}`, async () => {
    up.answer = (_, res) =>
      stream(res, ...deltas.map((delta) => chunk(delta)), chunk({}, "tool_calls"), DONE);
    const body = { ...ways["messages"]!.body([]), stream: true };
    const message = await gateway.request("POST", "/v1/messages", body);
    const blocks = eventsIn(await message.text());
    checkBlocks(blocks);
    assert.equal(
      ways["messages"]!.streamed(blocks).map((received) => received.args),
      args,
    );
    const texts = blocks.flatMap(({ delta }) => (delta?.type === "text_delta" ? [delta.text] : []));
    assert.is(texts.join(""), text);

    const request = { ...ways["responses"]!.body([]), stream: true };
    const response = await gateway.request("POST", "/v1/responses", request);
    const items = eventsIn(await response.text());
    checkItems(items);
    assert.equal(
      ways["responses"]!.streamed(items).map((received) => received.args),
      args,
    );
    const spoken = items.flatMap(({ type, delta }) =>
      type === "response.output_text.delta" ? [delta] : [],
    );
    assert.is(spoken.join(""), text);
  });
}

const formatEvent = (type: string, fields: object) => data({ type, ...fields });
const toolUse = { type: "tool_use", name: "calc", input: {} };
const toolInput = { type: "input_json_delta", partial_json: "{" };
/** Streams of blocks: a call without arguments has ended, and another one has begun. */
const endedCalls: Record<string, { begin: readonly (string | Buffer)[]; contentType: string }> = {
  claude: {
    contentType: "text/event-stream",
    begin: [
      formatEvent("message_start", {
        message: { id: "msg_1", model: "x", usage: { input_tokens: 1 } },
      }),
      formatEvent("content_block_start", {
        index: 0,
        content_block: { ...toolUse, id: "toolu_1" },
      }),
      formatEvent("content_block_stop", { index: 0 }),
      formatEvent("content_block_start", {
        index: 1,
        content_block: { ...toolUse, id: "toolu_2" },
      }),
      formatEvent("content_block_delta", { index: 1, delta: toolInput }),
    ],
  },
  aws: {
    contentType: "application/vnd.amazon.eventstream",
    begin: [
      event("messageStart", { role: "assistant" }),
      event("contentBlockStart", {
        contentBlockIndex: 0,
        start: { toolUse: { toolUseId: "tooluse_1", name: "calc" } },
      }),
      event("contentBlockStop", { contentBlockIndex: 0 }),
      event("contentBlockStart", {
        contentBlockIndex: 1,
        start: { toolUse: { toolUseId: "tooluse_2", name: "calc" } },
      }),
      event("contentBlockDelta", { contentBlockIndex: 1, delta: { toolUse: { input: "{" } } }),
    ],
  },
};
const waysOfBlocks = [
  ["claude", "responses"],
  ["aws", "responses"],
  ["aws", "messages"],
] as const;

for (const [channel, way] of waysOfBlocks) {
  test(`${way}: after a call of \`${channel}\` that has ended without arguments, the next call begins at once`, async () => {
    const { begin, contentType } = endedCalls[channel]!;
    up.answer = (_, res) => {
      res.writeHead(200, { "content-type": contentType });
      for (const bytes of begin) res.write(bytes);
    };
    const body = { ...ways[way]!.body([]), model: `${channel}/x`, stream: true };
    const response = await gateway.request("POST", ways[way]!.path, body);
    assert.is(response.status, 200);
    // The upstream sends nothing more, so everything that must arrive is there already.
    const reader = response.body!.getReader();
    const decoder = new TextDecoder();
    let text = "";
    while (!/_2"[\s\S]*(?:partial_json":"\{"|"delta":"\{")/.test(text)) {
      const { done, value } = await reader.read();
      text += decoder.decode(value, { stream: true });
      assert.not(done || text.includes("event: error"), text);
    }
    await reader.cancel();
  });
}

test("a stream that breaks off within a call still delivers the texts after it", async () => {
  up.answer = (_, res) =>
    stream(
      res,
      chunk(call({ index: 0, id: "c1", name: "calc", args: '{"x":' })),
      chunk({ content: "behind" }),
      `data: ${JSON.stringify({ error: { message: "broken" } })}\n\n`,
    );
  for (const way of ["messages", "responses"]) {
    const body = { ...ways[way]!.body([]), stream: true };
    const response = await gateway.request("POST", ways[way]!.path, body);
    const text = await response.text();
    assert.match(text, "behind");
    assert.ok(text.indexOf("behind") < text.indexOf("broken"), "the error comes last");
  }
});

test("a stream ends with an error if too much data waits for a call to be complete", async () => {
  const long = chunk({ content: "x".repeat(1 << 20) });
  up.answer = (_, res) =>
    stream(
      res,
      chunk(call({ index: 0, id: "c1", name: "calc", args: '{"x":' })),
      ...Array.from({ length: 24 }, () => long),
      chunk({}, "tool_calls"),
      DONE,
    );
  const lastTypes = { messages: "error", responses: "response.failed" };
  for (const [way, lastType] of Object.entries(lastTypes)) {
    const body = { ...ways[way]!.body([]), stream: true };
    const response = await gateway.request("POST", ways[way]!.path, body);
    assert.is(eventsIn(await response.text()).at(-1).type, lastType);
  }
});

test("an integer beyond 2^53 keeps its digits in calls, in every client format", async () => {
  const args = '{"id":9007199254740993123,"list":[-12345678901234567890]}';
  for (const [name, way] of Object.entries(ways)) {
    for (const isStream of [true, false]) {
      const call = { index: 0, id: "call_1", name: "calc", args };
      if (isStream) respondWithStream([call]);
      else respondWhole([call]);
      const response = await gateway.request("POST", way.path, {
        ...way.body([]),
        stream: isStream,
      });
      const text = await response.text();
      assert.match(text.replaceAll("\\", ""), "9007199254740993123", name);
      assert.match(text.replaceAll("\\", ""), "-12345678901234567890", name);
    }
  }
});

test.run();
