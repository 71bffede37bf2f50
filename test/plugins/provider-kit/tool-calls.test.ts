/** What a tool call is, whatever way a server of OpenAI's format counts its calls. */
import * as assert from "uvu/assert";
import { createOpenAiDecoder, type StreamPart } from "portico/provider";
import { Recoded } from "../../support/recoded.ts";
import { suite } from "../../support/suite.ts";
import { chunk, DONE, eventsOf } from "../../support/upstreams/upstream.ts";

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
    const recoded = new Recoded({ ...defaults, includeUsage: false });
    const text = recoded.push(Buffer.from([...events, DONE].join("")))!.toString();
    const put: string[][] = [];
    for (const event of eventsOf(text).slice(0, -1)) {
      for (const { index, id, function: fn } of event.choices[0]?.delta.tool_calls ?? []) {
        assert.is.not(id, "", "an id is absent, never empty");
        const [ids = "", names = "", args = ""] = put[index] ?? [];
        put[index] = [ids + (id ?? ""), names + (fn.name ?? ""), args + (fn.arguments ?? "")];
      }
    }
    assert.equal(put, calls);
  });
}

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

test("arguments that a limit has cut stay as they are", () => {
  const parts = partsOf([
    call({ index: 0, id: "c1", name: "calc", args: '{"x":1' }),
    chunk({}, "length"),
  ]);
  assert.equal(callsIn(parts), [["c1", "calc", '{"x":1']]);
});

test.run();
