/** `function_call`, the form that tool calls had before there were tools, from upstreams and for clients. */
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { hookFiles } from "../../support/hook-files.ts";
import { suite } from "../../support/suite.ts";
import {
  chunk,
  completion,
  DONE,
  eventsOf,
  json,
  startUpstream,
  stream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";

const test = suite("function_call");
let up: Upstream;
let plain: InProcessGateway;
let hooked: InProcessGateway;

test.before(async () => {
  up = await startUpstream(() => {});
  const channel = { provider: "openai", baseUrl: up.url, models: ["m"], maxRetries: 0 };
  const config = { channels: { one: channel }, agents: { defaults: { model: "one/m" } } };
  const hook = hookFiles(
    "redact",
    "event.context.content = event.context.content.replaceAll('bad', '***');",
    { events: "message:sending" },
  );
  plain = await startGateway({ config });
  hooked = await startGateway({ config, files: hook });
});
test.after(async () => {
  await plain?.stop();
  await hooked?.stop();
  await up?.close();
});

const parameters = { type: "object", properties: {} };
const user = [{ role: "user", content: "go" }];
const tools = [{ type: "function", function: { name: "calc", parameters } }];
const functions = [{ name: "calc", parameters }];

interface Called {
  name: string;
  args: string;
}

/** The calls that each kind of client receives, and the finish reason. */
interface Answered {
  calls: Called[];
  finish: string;
}

interface Client {
  path: string;
  body: object;
  whole(body: any): Answered;
  streamed(text: string): Answered;
}

function collect(fragments: readonly { index: number; function: any }[]): Called[] {
  const calls: Called[] = [];
  for (const { index, function: fn } of fragments) {
    calls[index] ??= { name: "", args: "" };
    const call = calls[index];
    call.name += fn.name ?? "";
    call.args += fn.arguments ?? "";
  }
  return calls;
}

function deltasOf(text: string): { deltas: any[]; finish: string } {
  const choices = eventsOf(text)
    .slice(0, -1)
    .flatMap((event) => event.choices);
  const ends = choices.flatMap(({ finish_reason: reason }) => (reason === null ? [] : [reason]));
  assert.is(ends.length, 1, "the choice is finished once");
  return { deltas: choices.map(({ delta }) => delta), finish: ends[0] };
}

const eventsIn = (text: string): any[] =>
  [...text.matchAll(/^data: (.*)$/gm)].map(([, line]) => JSON.parse(line!));

const clients: Record<string, Client> = {
  "chat with tools": {
    path: "/v1/chat/completions",
    body: { model: "m", messages: user, tools },
    whole({ choices: [{ message, finish_reason: finish }] }) {
      assert.not("function_call" in message);
      for (const { id, type } of message.tool_calls) {
        assert.match(id, /^call_\w+$/);
        assert.is(type, "function");
      }
      return { calls: collect(message.tool_calls.map(indexed)), finish };
    },
    streamed(text) {
      const { deltas, finish } = deltasOf(text);
      assert.not(deltas.some((delta) => "function_call" in delta));
      const fragments = deltas.flatMap((delta) => delta.tool_calls ?? []);
      const ids = fragments.flatMap(({ id }) => (id === undefined ? [] : [id]));
      const calls = collect(fragments);
      assert.is(new Set(ids).size, calls.length);
      return { calls, finish };
    },
  },
  "chat with functions": {
    path: "/v1/chat/completions",
    body: { model: "m", messages: user, functions },
    whole({ choices: [{ message, finish_reason: finish }] }) {
      assert.not("tool_calls" in message);
      return { calls: collect([{ index: 0, function: message.function_call }]), finish };
    },
    streamed(text) {
      const { deltas, finish } = deltasOf(text);
      assert.not(deltas.some((delta) => "tool_calls" in delta));
      const calls = deltas.flatMap((delta) => delta.function_call ?? []);
      return { calls: collect(calls.map((fn) => ({ index: 0, function: fn }))), finish };
    },
  },
  messages: {
    path: "/v1/messages",
    body: {
      model: "m",
      max_tokens: 9,
      messages: user,
      tools: [{ name: "calc", input_schema: parameters }],
    },
    whole: ({ content, stop_reason: finish }) => ({
      calls: content
        .filter(({ type }: any) => type === "tool_use")
        .map(({ name, input }: any) => ({ name, args: JSON.stringify(input) })),
      finish,
    }),
    streamed(text) {
      const events = eventsIn(text);
      const calls = events
        .filter(({ content_block: block }) => block?.type === "tool_use")
        .map(({ index, content_block: { name } }) => ({
          name,
          args: events
            .filter((event) => event.index === index && event.delta?.type === "input_json_delta")
            .map(({ delta }) => delta.partial_json)
            .join(""),
        }));
      const finish = events.find(({ type }) => type === "message_delta").delta.stop_reason;
      return { calls, finish };
    },
  },
  responses: {
    path: "/v1/responses",
    body: { model: "m", input: "go", tools: [{ type: "function", name: "calc", parameters }] },
    whole: ({ output, status }) => ({ calls: callsOfOutput(output), finish: status }),
    streamed(text) {
      const { response } = eventsIn(text).find(({ type }) => type === "response.completed");
      return { calls: callsOfOutput(response.output), finish: response.status };
    },
  },
};

const indexed = (call: any, index: number) => ({ ...call, index });

function callsOfOutput(output: any[]): Called[] {
  return output
    .filter(({ type }) => type === "function_call")
    .map(({ name, arguments: args }) => ({ name, args }));
}

const FINISHES: Record<string, string> = {
  ...{ "chat with tools": "tool_calls", "chat with functions": "function_call" },
  ...{ messages: "tool_use", responses: "completed" },
};

const call = { name: "calc", arguments: '{"x":"1"}' };
const asTool = { index: 0, id: "call_1", type: "function", function: call };
const expected = [{ name: "calc", args: '{"x":"1"}' }];
/** The deltas of a stream; their sum is the message of a whole response. */
const upstreams: Record<string, { deltas: object[]; message: object; calls?: Called[] }> = {
  "in pieces": {
    deltas: [
      { role: "assistant", content: null, function_call: { name: "calc", arguments: "" } },
      { function_call: { arguments: '{"x":' } },
      { function_call: { arguments: '"1"}' } },
    ],
    message: { content: null, function_call: call },
  },
  "with a name in pieces, and texts between": {
    deltas: [
      { content: "bad", function_call: { name: "ca" } },
      { content: " so" },
      { function_call: { name: "lc" } },
      { content: " it is" },
      { function_call: { arguments: '{"x":"1"}' } },
    ],
    message: { content: "bad so it is", function_call: call },
  },
  "with arguments that are an object": {
    deltas: [{ function_call: { name: "calc", arguments: { x: "1" } } }],
    message: { content: "", function_call: { name: "calc", arguments: { x: "1" } } },
  },
  "without arguments": {
    deltas: [{ function_call: { name: "calc" } }],
    message: { function_call: { name: "calc" } },
    calls: [{ name: "calc", args: "{}" }],
  },
  "that is empty beside a tool call": {
    deltas: [
      { content: "", function_call: { name: null, arguments: null } },
      { tool_calls: [asTool], function_call: { name: "", arguments: "" } },
      { function_call: {} },
    ],
    message: { content: null, function_call: {}, tool_calls: [asTool] },
  },
  "that repeats a tool call": {
    deltas: [{ function_call: call, tool_calls: [asTool] }],
    message: { content: null, function_call: call, tool_calls: [asTool] },
  },
};

async function ask(gateway: InProcessGateway, { path, body }: Client, streamed: boolean) {
  const response = await gateway.request("POST", path, { ...body, stream: streamed });
  const text = await response.text();
  assert.is(response.status, 200, text);
  return text;
}

for (const [what, { deltas, message, calls = expected }] of Object.entries(upstreams))
  for (const [name, client] of Object.entries(clients))
    test(`${name}: a function_call ${what}`, async () => {
      for (const finish of ["function_call", "stop"])
        for (const gateway of [plain, hooked]) {
          up.answer = (_, res) =>
            stream(res, ...deltas.map((delta) => chunk(delta)), chunk({}, finish), DONE);
          const received = client.streamed(await ask(gateway, client, true));
          assert.equal(received, { calls, finish: FINISHES[name] });
          const choice = { index: 0, message: { role: "assistant", ...message } };
          up.answer = (_, res) =>
            json(res, completion("", { choices: [{ ...choice, finish_reason: finish }] }));
          const whole = client.whole(JSON.parse(await ask(gateway, client, false)));
          assert.equal(whole, { calls, finish: FINISHES[name] });
        }
    });

test("a client that sent functions receives the first of several tool calls", async () => {
  const client = clients["chat with functions"]!;
  const second = {
    ...asTool,
    index: 1,
    id: "call_2",
    function: { name: "other", arguments: "{}" },
  };
  up.answer = (_, res) =>
    stream(
      res,
      chunk({ role: "assistant", tool_calls: [asTool] }),
      chunk({ tool_calls: [second] }),
      chunk({}, "tool_calls"),
      DONE,
    );
  const received = client.streamed(await ask(plain, client, true));
  assert.equal(received, { calls: expected, finish: "function_call" });
  const message = { role: "assistant", content: null, tool_calls: [asTool, second] };
  const choice = { index: 0, message, finish_reason: "tool_calls" };
  up.answer = (_, res) => json(res, completion("", { choices: [choice] }));
  const whole = client.whole(JSON.parse(await ask(plain, client, false)));
  assert.equal(whole, { calls: expected, finish: "function_call" });
});

test("a text stream reaches a client that sent functions unchanged", async () => {
  const events = [
    chunk({ role: "assistant", content: "" }),
    chunk({ content: "a", odd: 1 }, null, { service_tier: "x" }),
    chunk({ content: "b" }),
  ];
  up.answer = (_, res) => stream(res, ...events, chunk({}, "stop"), DONE);
  const text = await ask(plain, clients["chat with functions"]!, true);
  assert.ok(text.startsWith(events.join("")), text);
});

test("the agent runs a tool that an upstream calls by function_call", async () => {
  let turns = 0;
  up.answer = ({ body }, res) => {
    turns++;
    const isCalled = body.messages.some(({ role }: any) => role === "tool");
    const name = body.tools[0].function.name;
    const message = isCalled
      ? { role: "assistant", content: "done" }
      : { role: "assistant", function_call: { name, arguments: "{}" } };
    const finish = isCalled ? "stop" : "function_call";
    if (body.stream) stream(res, chunk(message), chunk({}, finish), DONE);
    else json(res, completion("", { choices: [{ index: 0, message, finish_reason: finish }] }));
  };
  for (const isStream of [false, true]) {
    turns = 0;
    const body = { model: "agent", messages: user, stream: isStream };
    const response = await plain.request("POST", "/v1/chat/completions", body);
    assert.match(await response.text(), "done");
    assert.is(turns, 2);
  }
});

test.run();
