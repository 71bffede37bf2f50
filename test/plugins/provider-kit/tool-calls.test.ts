/** What a tool call is, whatever way a server of OpenAI's format counts its calls. */
import * as assert from "uvu/assert";
import { createOpenAiDecoder, type StreamPart } from "portico/provider";
import { StreamRecoder } from "../../support/recoded.ts";
import { suite } from "../../support/suite.ts";
import { chunk, data, DONE, eventsOf } from "../../support/upstreams/upstream.ts";

const test = suite("tool calls of a stream");

const defaults = { id: "chatcmpl-x", created: 1, model: "m" };

function partsOf(events: readonly string[]): StreamPart[] {
  const decoder = createOpenAiDecoder(defaults);
  const parts = decoder.push(Buffer.from([...events, DONE].join("")));
  return decoder.done ? parts : [...parts, ...decoder.end()];
}

interface Fragment {
  index?: number;
  id?: string;
  type?: string;
  name?: string;
  args?: unknown;
}

const call = ({ index, id, type, name, args }: Fragment): string =>
  chunk({ tool_calls: [{ index, id, type, function: { name, arguments: args } }] });

/** A fragment of one of two parallel calls. A name that ends in `_` is the first piece, and has the id beside it. */
const parallelFragment = ({ name, args }: Fragment, index: number) => ({
  index,
  ...(name?.endsWith("_") && { id: `c${index + 1}`, type: "function" }),
  function: { name, arguments: args },
});

/** Id, name and arguments of each call, in the order in which the calls were announced. */
function callsIn(parts: readonly StreamPart[]): string[][] {
  const calls: string[][] = [];
  for (const part of parts) {
    if (part.type === "tool-call") {
      assert.is(part.index, calls.length, "calls are counted in their order");
      calls.push([part.id, part.name, ""]);
    }
    if (part.type === "tool-arguments") calls[part.index]![2] += part.text;
  }
  return calls;
}

const oneCall = [["c1", "calc", '{"x":1}']];
const streams: Record<string, { events: string[]; calls: string[][] }> = {
  "a name that comes after the id": {
    events: [
      call({ index: 0, id: "c1", type: "function", name: "", args: "" }),
      call({ index: 0, name: "calc", args: '{"x":1}' }),
    ],
    calls: oneCall,
  },
  "a name without arguments that comes after the id": {
    events: [
      call({ index: 0, id: "c1" }),
      call({ index: 0, name: "calc" }),
      call({ index: 0, args: '{"x":1}' }),
    ],
    calls: oneCall,
  },
  "a name that comes after the first arguments": {
    events: [
      call({ index: 0, id: "c1", args: '{"x"' }),
      call({ index: 0, name: "calc", args: ":1}" }),
    ],
    calls: oneCall,
  },
  "a name in pieces": {
    events: [
      call({ index: 0, id: "c1", name: "ca", args: "" }),
      call({ index: 0, name: "lc", args: "" }),
      call({ index: 0, args: '{"x":1}' }),
    ],
    calls: oneCall,
  },
  "empty strings in later deltas": {
    events: [
      call({ index: 0, id: "c1", name: "calc", args: "{" }),
      call({ index: 0, id: "", name: "", args: '"x":1}' }),
    ],
    calls: oneCall,
  },
  "the last bracket is missing": {
    events: [call({ index: 0, id: "c1", name: "calc", args: '{"x":1' })],
    calls: oneCall,
  },
  "arguments that are an object": {
    events: [call({ index: 0, id: "c1", name: "calc", args: { x: 1 } })],
    calls: oneCall,
  },
  "two late names": {
    events: [
      call({ index: 0, id: "c1" }),
      call({ index: 1, id: "c2" }),
      call({ index: 0, name: "a", args: "{}" }),
      call({ index: 1, name: "b", args: "{}" }),
    ],
    calls: [
      ["c1", "a", "{}"],
      ["c2", "b", "{}"],
    ],
  },
  "two names whose pieces alternate": {
    events: [
      call({ index: 0, id: "c1", name: "get_" }),
      call({ index: 1, id: "c2", name: "set_" }),
      call({ index: 0, name: "time" }),
      call({ index: 1, name: "clock" }),
      call({ index: 0, args: '{"x"' }),
      call({ index: 1, args: '{"x":2}' }),
      call({ index: 0, args: ":1}" }),
    ],
    calls: [
      ["c1", "get_time", '{"x":1}'],
      ["c2", "set_clock", '{"x":2}'],
    ],
  },
  "two names whose pieces come in one event": {
    events: [
      ...[
        [{ name: "get_" }, { name: "set_" }],
        [{ name: "time" }, { name: "clock", args: "{" }],
        [{ args: "{}" }, { args: "}" }],
      ].map((pair) => chunk({ tool_calls: pair.map(parallelFragment) })),
    ],
    calls: [
      ["c1", "get_time", "{}"],
      ["c2", "set_clock", "{}"],
    ],
  },
  "a name in pieces with texts between them": {
    events: [
      chunk({ content: "a" }),
      call({ index: 0, id: "c1", name: "ca" }),
      chunk({ content: "b" }),
      chunk({ reasoning_content: "hm" }),
      call({ index: 0, name: "lc" }),
      chunk({ content: "c" }),
      call({ index: 0, args: '{"x":1}' }),
    ],
    calls: oneCall,
  },
  "pieces of names beside texts in the same events": {
    events: [
      ...[
        ["a", { name: "get_" }, { name: "set_" }],
        ["b", { name: "time" }, { name: "clock" }],
        ["c", { args: "{}" }, { args: "{}" }],
      ].map(([content, ...pair]) =>
        chunk({ content, tool_calls: (pair as Fragment[]).map(parallelFragment) }),
      ),
    ],
    calls: [
      ["c1", "get_time", "{}"],
      ["c2", "set_clock", "{}"],
    ],
  },
  "a name in pieces at the index of an earlier call without arguments": {
    events: [
      call({ index: 0, id: "c1", name: "a" }),
      call({ index: 0, id: "c2", name: "ca" }),
      call({ index: 0, name: "lc" }),
      call({ index: 0, args: '{"x":1}' }),
    ],
    calls: [
      ["c1", "a", "{}"],
      ["c2", "calc", '{"x":1}'],
    ],
  },
  "the second name is complete before the first": {
    events: [
      call({ index: 0, id: "c1", name: "get_" }),
      call({ index: 1, id: "c2", name: "b", args: '{"x"' }),
      call({ index: 1, args: ":2}" }),
      call({ index: 0, name: "time" }),
      call({ index: 2, id: "c3", name: "c", args: "{}" }),
      call({ index: 0, args: '{"x":1}' }),
    ],
    calls: [
      ["c1", "get_time", '{"x":1}'],
      ["c2", "b", '{"x":2}'],
      ["c3", "c", "{}"],
    ],
  },
  "a late name of the first call while the second goes on": {
    events: [
      call({ index: 0, id: "c1" }),
      call({ index: 1, id: "c2", name: "b", args: "{" }),
      call({ index: 0, name: "a" }),
      call({ index: 1, args: "}" }),
    ],
    calls: [
      ["c1", "a", "{}"],
      ["c2", "b", "{}"],
    ],
  },
  "names whose pieces only the ids assign to calls": {
    events: [
      call({ id: "c1", name: "get_" }),
      call({ id: "c2", name: "set_" }),
      call({ id: "c1", name: "time" }),
      call({ id: "c2", name: "clock" }),
      call({ id: "c1", args: "{}" }),
      call({ id: "c2", args: "{}" }),
    ],
    calls: [
      ["c1", "get_time", "{}"],
      ["c2", "set_clock", "{}"],
    ],
  },
  "no arguments at all": {
    events: [call({ index: 0, id: "c1", name: "a" }), call({ index: 1, id: "c2", name: "b" })],
    calls: [
      ["c1", "a", "{}"],
      ["c2", "b", "{}"],
    ],
  },
  "a place for a call of which nothing comes": {
    events: [call({ index: 0, id: "c1" }), chunk({ content: "so" })],
    calls: [],
  },
  "two calls with one id and indexes of their own": {
    events: [
      call({ index: 0, id: "call_0", name: "calc", args: '{"x":1}' }),
      call({ index: 1, id: "call_0", name: "calc", args: '{"x":2}' }),
    ],
    calls: [
      ["call_0", "calc", '{"x":1}'],
      ["call_0", "calc", '{"x":2}'],
    ],
  },
  "two calls with one id and no index": {
    events: [
      call({ id: "call_0", name: "calc", args: '{"x":1}' }),
      call({ id: "call_0", name: "calc", args: '{"x":2}' }),
    ],
    calls: [
      ["call_0", "calc", '{"x":1}'],
      ["call_0", "calc", '{"x":2}'],
    ],
  },
  "two calls with one id, their fragments mixed": {
    events: [
      call({ index: 0, id: "call_0", name: "calc", args: '{"x"' }),
      call({ index: 1, id: "call_0", name: "calc", args: '{"x"' }),
      call({ index: 0, args: ":1}" }),
      call({ index: 1, args: ":2}" }),
    ],
    calls: [
      ["call_0", "calc", '{"x":1}'],
      ["call_0", "calc", '{"x":2}'],
    ],
  },
};

for (const [name, { events, calls }] of Object.entries(streams)) {
  test(name, () => {
    const parts = partsOf(events);
    assert.equal(callsIn(parts), calls);
    const finish = parts.find((part) => part.type === "finish");
    assert.is(finish?.type === "finish" && finish.reason, calls.length > 0 ? "tool_calls" : "stop");
  });

  test(`${name}: a client of OpenAI's format puts the same together`, () => {
    const all = Buffer.from([...events, DONE].join(""));
    assert.equal(callsOfClient([all]), calls);
    const singly = [...events, DONE].map((event) => Buffer.from(event));
    assert.equal(callsOfClient(singly), calls, "each event in a network read of its own");
  });
}

/** Id, name and arguments of each call as a client of OpenAI's format collects them. */
function callsOfClient(reads: readonly Buffer[]): string[][] {
  const recoded = new StreamRecoder({ ...defaults, includeUsage: false });
  const text = reads.map((bytes) => recoded.push(bytes)?.toString() ?? "").join("");
  const calls: string[][] = [];
  for (const event of eventsOf(text).slice(0, -1)) {
    for (const { index, id, function: fn } of event.choices[0]?.delta.tool_calls ?? []) {
      assert.is.not(id, "", "an id is absent, never empty");
      const [ids = "", names = "", args = ""] = calls[index] ?? [];
      calls[index] = [ids + (id ?? ""), names + (fn.name ?? ""), args + (fn.arguments ?? "")];
    }
  }
  return calls;
}

test("texts do not wait for a call, and keep their order", () => {
  const decoder = createOpenAiDecoder(defaults);
  const textsIn = (bytes: string) =>
    decoder
      .push(Buffer.from(bytes))
      .map((part) => ("text" in part ? part.text : part.type))
      .join(" ");
  textsIn(chunk({ role: "assistant" }));
  assert.is(textsIn(call({ index: 0, id: "c1", name: "calc" })), "");
  assert.is(textsIn(chunk({ content: "a" })), "a");
  const second = [{ index: 1, id: "c2", function: { name: "calc" } }];
  assert.is(textsIn(chunk({ content: "b", tool_calls: second })), "");
  assert.is(textsIn(chunk({ content: "c" })), "", "the text of the event that waits is earlier");
  const end = textsIn(chunk({}, "tool_calls") + DONE);
  assert.is(end, "tool-call b tool-call c {} {} finish");
});

test("a call whose index the next one takes is complete", () => {
  const decoder = createOpenAiDecoder(defaults);
  const read = (bytes: string) =>
    decoder.push(Buffer.from(bytes)).map((part) => ("text" in part ? part.text : part.type));
  assert.equal(read(call({ index: 0, id: "c1", name: "a" })), ["start"]);
  assert.equal(read(call({ index: 0, id: "c2", name: "b", args: "{" })), [
    ...["tool-call", "{}", "tool-call", "{"],
  ]);
});

test("a call is announced once its name is complete, at the place where it began", () => {
  const decoder = createOpenAiDecoder(defaults);
  const types = (bytes: string) => decoder.push(Buffer.from(bytes)).map(({ type }) => type);
  assert.equal(types(call({ index: 0, id: "c1", name: "calc", args: "" })), ["start"]);
  assert.equal(types(call({ index: 0, args: "{" })), ["tool-call", "tool-arguments"]);
  assert.equal(types(call({ index: 1, id: "c2", name: "calc", args: "{}" })), [
    "tool-call",
    "tool-arguments",
  ]);
});

test("names whose pieces alternate between two choices", () => {
  const piece = (index: number, name: string | undefined, args = "") => ({
    index,
    delta: { tool_calls: [{ index: 0, id: `c${index}`, function: { name, arguments: args } }] },
  });
  const events = [
    [piece(0, "get_")],
    [piece(1, "set_")],
    [piece(0, "time")],
    [{ index: 2, delta: { content: "text" } }],
    [piece(1, "clock")],
    [piece(1, undefined, "{}")],
    [piece(0, undefined, "{}")],
  ].map((choices) => data({ id: "chatcmpl-1", object: "chat.completion.chunk", choices }));
  const decoder = createOpenAiDecoder(defaults);
  const parts = [...events, DONE].flatMap((event) => decoder.push(Buffer.from(event)));
  const names = parts.flatMap((part) =>
    part.type === "tool-call" ? [[part.choice, part.name]] : [],
  );
  assert.equal(names, [
    [0, "get_time"],
    [1, "set_clock"],
  ]);
});

test("a stream with more calls than any model makes is read up to its latest calls", () => {
  const decoder = createOpenAiDecoder(defaults);
  const begin = (index: number) => call({ index, id: `c${index}`, name: `n${index}` });
  const count = 1000;
  const parts = Array.from({ length: count }, (_, index) => begin(index)).flatMap((event) =>
    decoder.push(Buffer.from(event)),
  );
  const announced = parts.filter((part) => part.type === "tool-call");
  assert.ok(announced.length > count - 100, "few calls wait for the rest of their names");
  const all = callsIn([...parts, ...decoder.push(Buffer.from(chunk({}, "tool_calls") + DONE))]);
  assert.equal(
    all,
    Array.from({ length: count }, (_, index) => [`c${index}`, `n${index}`, "{}"]),
  );
});

test("arguments that a limit has cut stay as they are", () => {
  const parts = partsOf([
    call({ index: 0, id: "c1", name: "calc", args: '{"x":1' }),
    chunk({}, "length"),
  ]);
  assert.equal(callsIn(parts), [["c1", "calc", '{"x":1']]);
});

test.run();
