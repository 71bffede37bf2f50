import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { createOpenAiDecoder } from "portico/provider";
import { StreamRecoder as OpenAiStream } from "../../support/recoded.ts";
import { chunk, contentOf, DONE, data, eventsOf, hello } from "../../support/upstreams/upstream.ts";

interface Run {
  text: string;
  error?: string;
  decoder: OpenAiStream;
}

function run(
  input: string | Buffer,
  options: { size?: number; usage?: boolean; capture?: boolean; shortcut?: boolean } = {},
): Run {
  const bytes = Buffer.from(input);
  const head = { id: "chatcmpl-ours", created: 5, model: "ours" };
  const { shortcut = true } = options;
  const decoder = new OpenAiStream(
    { ...head, includeUsage: options.usage ?? false },
    createOpenAiDecoder(head, { shortcut }),
  );
  const size = options.size ?? bytes.length;
  let text = "";
  try {
    for (let at = 0; at < bytes.length && decoder.failure === undefined; at += size)
      text += (decoder.push(bytes.subarray(at, at + size)) ?? "").toString();
    if (decoder.failure === undefined) text += (decoder.end() ?? "").toString();
  } catch (error) {
    return { text, error: (error as Error).message, decoder };
  }
  return { text, decoder, ...(decoder.failure && { error: decoder.failure.message }) };
}

/** The same whatever the cut, and also where every event is parsed; returns the result. */
function everyCut(input: string, options: { usage?: boolean; capture?: boolean } = {}): Run {
  const whole = run(input, options);
  const parsed = run(input, { ...options, shortcut: false });
  assert.equal([parsed.text, parsed.error], [whole.text, whole.error]);
  for (const size of [1, 2, 3, 5, 7, 16, 61, 100, 333]) {
    const cut = run(input, { ...options, size });
    assert.is(cut.text, whole.text, `cut at ${size}`);
    assert.is(cut.error, whole.error, `cut at ${size}`);
  }
  return whole;
}

/** Rules of every good stream. */
function assertShape(text: string): void {
  const events = eventsOf(text);
  assert.is(events.at(-1), "[DONE]");
  const chunks = events.slice(0, -1);
  assert.is(
    new Set(chunks.map((event) => `${event.id} ${event.created} ${event.model} ${event.object}`))
      .size,
    1,
  );
  const finishes = new Map<number, number>();
  const roles = new Map<number, number>();
  for (const event of chunks) {
    for (const choice of event.choices) {
      if (!roles.has(choice.index)) assert.is(choice.delta.role, "assistant");
      if (choice.delta.role) roles.set(choice.index, (roles.get(choice.index) ?? 0) + 1);
      if (choice.finish_reason) finishes.set(choice.index, (finishes.get(choice.index) ?? 0) + 1);
    }
  }
  for (const count of [...finishes.values(), ...roles.values()]) assert.is(count, 1);
  assert.is(finishes.size, roles.size);
}

test("a valid stream passes byte for byte, however it is cut", () => {
  const text = hello.join("");
  assert.is(everyCut(text).text, text);
  assertShape(text);
});

test("the common path lets text with every kind of character pass", () => {
  const words = ['a"b', "\\", "\n\n", "é😀", "data: [DONE]", '"},"finish_reason":"stop"', ""];
  const text = [
    hello[0],
    ...Array.from({ length: 30 }, (_, i) => chunk({ content: words[i % words.length] })),
    chunk({}, "stop"),
    DONE,
  ].join("");
  const { text: out, decoder } = everyCut(text, { capture: true });
  assert.is(out, text);
  assert.is(decoder.text, contentOf(text));
});

for (const [name, nl] of Object.entries({ crlf: "\r\n", cr: "\r" })) {
  test(`${name} line ends are normalised`, () => {
    const { text } = everyCut(hello.join("").replaceAll("\n", nl));
    assert.is(text, hello.join(""));
  });
}

test("line ends that change in the middle, event names, ids, comments, data over several lines", () => {
  const split = `event: message\nid: 1\ndata: {"id":"chatcmpl-up","object":"chat.completion.chunk",\ndata: "created":1700000000,"model":"up-model","choices":[{"index":0,"delta":{"content":"X"},"finish_reason":null}]}\n\n`;
  const { text } = everyCut(
    `${hello[0]}: OPENROUTER PROCESSING\n\n${split}${hello[1]!.replaceAll("\n", "\r\n")}${hello.slice(2).join("")}`,
  );
  assert.is(contentOf(text), "XHello");
  assertShape(text);
});

test("data: without a space is written as clients know it", () => {
  assert.is(everyCut(hello.join("").replaceAll("data: ", "data:")).text, hello.join(""));
});

test("a missing [DONE] and a missing finish reason are added at a clean end", () => {
  assert.is(everyCut(hello.slice(0, 4).join("")).text, hello.join(""));
  assert.is(everyCut(hello.slice(0, 3).join("")).text, hello.join(""));
  const call = chunk({
    tool_calls: [
      { index: 0, id: "call_1", type: "function", function: { name: "f", arguments: "{}" } },
    ],
  });
  const events = eventsOf(everyCut(hello[0] + call).text);
  assert.is(events.at(-2).choices[0].finish_reason, "tool_calls");
});

test("a stream of nothing but [DONE] is a failure", () => {
  for (const input of [DONE, `: wait\n\n${DONE}`, DONE.replaceAll("\n", "\r\n")])
    assert.match(everyCut(input).error!, "before it sent anything");
});

test("a stream of its usage alone is an empty completion, with its usage if the client asks for it", () => {
  const usage = { prompt_tokens: 1, completion_tokens: 0, total_tokens: 1 };
  const usageChunk = chunk({}, null, { choices: [], usage });
  for (const input of [usageChunk + DONE, `: wait\n\n${usageChunk}${DONE}`]) {
    const { text, decoder, error } = everyCut(input);
    assert.is(error, undefined);
    assertShape(text.replace(": wait\n\n", ""));
    assert.is(contentOf(text), "");
    assert.is(decoder.finishReason, "stop");
    assert.equal(
      eventsOf(text).map((event) => event.choices?.[0].finish_reason),
      [null, "stop", undefined],
    );
  }
  assert.equal(eventsOf(everyCut(usageChunk + DONE, { usage: true }).text).at(-2).usage, usage);
});

test("an event without its blank line still counts; half an event is an error", () => {
  assert.is(everyCut(hello.join("").trimEnd()).text, hello.join(""));
  const { error, text } = everyCut(hello.slice(0, 2).join("") + hello[2]!.slice(0, 60));
  assert.match(error!, "not JSON");
  assert.is(text, hello.slice(0, 2).join(""));
});

test("truncated or garbled data after the last finish reason is ignored", () => {
  const usageChunk = data({
    ...JSON.parse(chunk({}).slice(6)),
    choices: [],
    usage: { prompt_tokens: 1, completion_tokens: 2 },
  });
  const whole = [...hello.slice(0, -1), usageChunk, DONE].join("");
  const usage = whole.indexOf(usageChunk);
  for (let at = usage; at < whole.length; at++) {
    const { text, error } = run(whole.slice(0, at));
    assert.is(error, undefined, `cut at ${at}`);
    assertShape(text);
  }
  const { text, error } = run(`${whole.slice(0, usage)}data: nonsense\n\n${whole.slice(usage)}`);
  assert.is(error, undefined);
  assert.is(text, run(whole).text);
});

test("all of several choices must have finished, or the stream is an error", () => {
  const finishOf = (index: number, reason: string | null) =>
    data({
      ...JSON.parse(chunk({}).slice(6)),
      choices: [{ index, delta: { content: "x" }, finish_reason: reason }],
    });
  const both = finishOf(0, null) + finishOf(1, null) + finishOf(0, "stop");
  assert.is(run(both).decoder.finishReason, "stop");
  assert.match(run(`${both}data: {"choices":[{"ind`).error ?? "", "not JSON");
  const open = new OpenAiStream({
    id: "chatcmpl-ours",
    created: 5,
    model: "ours",
    includeUsage: false,
  });
  open.push(Buffer.from(both));
  assert.is(open.finishReason, undefined);
  open.push(Buffer.from(finishOf(1, "length")));
  assert.is(open.finishReason, "stop");
});

test("an empty stream is an error", () => {
  assert.match(run("").error!, "before it sent anything");
  assert.match(run(": hi\n\n").error!, "before it sent anything");
});

test("missing fields are filled in, one id throughout", () => {
  const bare = (delta: object, id?: string) => data({ ...(id && { id }), choices: [{ delta }] });
  const { text } = everyCut(
    bare({ content: "a" }) + bare({ content: "b" }, "other") + bare({ content: "c" }),
  );
  assert.is(contentOf(text), "abc");
  assertShape(text);
  assert.is(eventsOf(text)[0].id, "chatcmpl-ours");
  assert.is(eventsOf(text)[0].choices[0].index, 0);
});

test("ids that change are made one, also behind common events", () => {
  const events = Array.from({ length: 6 }, (_, i) =>
    chunk(i === 0 ? { role: "assistant", content: "" } : { content: "x" }, null, {
      id: `chatcmpl-${i}`,
    }),
  );
  const { text } = everyCut(events.join("") + chunk({}, "stop") + DONE);
  assertShape(text);
  assert.is(eventsOf(text)[0].id, "chatcmpl-0");
});

test("role on each chunk stays on the first only; a missing one is added", () => {
  const { text } = everyCut(
    [
      chunk({ role: "assistant", content: "a" }),
      chunk({ role: "assistant", content: "b" }),
      chunk({ role: "assistant", content: "" }, "stop"),
      DONE,
    ].join(""),
  );
  assertShape(text);
  assert.is(contentOf(text), "ab");
  assertShape(everyCut([chunk({ content: "a" }), chunk({}, "stop"), DONE].join("")).text);
});

test("stop with tool calls is tool_calls; a second finish reason goes", () => {
  const call = chunk({
    role: "assistant",
    tool_calls: [
      { index: 0, id: "c1", type: "function", function: { name: "f", arguments: "{}" } },
    ],
  });
  const { text } = everyCut([call, chunk({}, "stop"), chunk({}, "stop"), DONE].join(""));
  assertShape(text);
  assert.is(eventsOf(text).at(-2).choices[0].finish_reason, "tool_calls");
});

test("tool calls without index, with one index for all, with arguments as an object", () => {
  const call = (id: string, more: object, args: unknown) =>
    chunk({ tool_calls: [{ id, ...more, function: { name: "f", arguments: args } }] });
  for (const more of [{}, { index: 0 }]) {
    const { text } = everyCut(
      [call("c1", more, { a: 1 }), call("c2", more, { b: 2 }), chunk({}, "tool_calls"), DONE].join(
        "",
      ),
    );
    const calls = eventsOf(text).flatMap((event) => event.choices?.[0]?.delta.tool_calls ?? []);
    assert.equal(
      calls.map((call) => [call.index, call.id, call.type, call.function.arguments]),
      [
        [0, "c1", "function", '{"a":1}'],
        [1, "c2", "function", '{"b":2}'],
      ],
    );
  }
});

test("fragments of arguments follow their call", () => {
  const events = [
    chunk({
      role: "assistant",
      tool_calls: [
        { index: 0, id: "c1", type: "function", function: { name: "f", arguments: "" } },
      ],
    }),
    ...["{", '"a"', ":", "1", "}"].map((piece) =>
      chunk({ tool_calls: [{ index: 0, function: { arguments: piece } }] }),
    ),
    chunk({
      tool_calls: [
        { index: 1, id: "c2", type: "function", function: { name: "g", arguments: "{}" } },
      ],
    }),
    chunk({}, "tool_calls"),
    DONE,
  ];
  assert.is(everyCut(events.join("")).text, events.join(""));
});

test("a call's place is the next one, whatever the upstream counts; its id and name are sent once", () => {
  const call = (
    index: number | undefined,
    id: string | undefined,
    name: string | undefined,
    args: string,
  ) =>
    chunk({ tool_calls: [{ index, id, type: "function", function: { name, arguments: args } }] });
  const streams = {
    "places of content blocks": [
      call(1, "c1", "f", '{"a"'),
      call(1, undefined, undefined, ":1}"),
      call(3, "c2", "g", ""),
    ],
    "all told with each fragment": [
      call(0, "c1", "f", '{"a"'),
      call(0, "c1", "f", ":1}"),
      call(1, "c2", "g", "{}"),
    ],
    "one place for all": [
      call(0, "c1", "f", '{"a"'),
      call(0, "c1", "f", ":1}"),
      call(0, "c2", "g", "{}"),
    ],
    "an id of its own with each fragment": [
      call(0, "c1", "f", '{"a"'),
      call(0, "x", undefined, ":1}"),
      call(1, "c2", "g", "{}"),
    ],
    "an id of its own with each fragment, no places": [
      call(undefined, "c1", "f", '{"a"'),
      call(undefined, "x", "", ":1}"),
      call(undefined, "c2", "g", "{}"),
    ],
  };
  for (const [name, events] of Object.entries(streams)) {
    const { text } = everyCut([...events, chunk({}, "tool_calls"), DONE].join(""));
    const calls: string[][] = [];
    for (const { index, id, function: fn } of eventsOf(text).flatMap(
      (event) => event.choices?.[0]?.delta.tool_calls ?? [],
    )) {
      const [ids = "", names = "", args = ""] = calls[index] ?? [];
      calls[index] = [ids + (id ?? ""), names + (fn.name ?? ""), args + (fn.arguments ?? "")];
    }
    assert.equal(
      calls,
      [
        ["c1", "f", '{"a":1}'],
        ["c2", "g", "{}"],
      ],
      name,
    );
  }
});

test("frames without choices go; usage only when asked for, once, behind the finish", () => {
  const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
  const frame = data({
    id: "",
    object: "",
    created: 0,
    model: "",
    choices: [],
    prompt_filter_results: [],
  });
  const usageChunk = chunk({}, null, { choices: [], usage });
  const { text, decoder } = everyCut([frame, ...hello.slice(0, 4), usageChunk, DONE].join(""));
  assert.is(text, hello.join(""));
  assert.equal(decoder.usage, usage);
  const withUsage = everyCut([...hello.slice(0, 4), usageChunk, DONE].join(""), {
    usage: true,
  }).text;
  assert.is(withUsage, [...hello.slice(0, 4), usageChunk, DONE].join(""));
  const onFinish = everyCut([...hello.slice(0, 3), chunk({}, "stop", { usage }), DONE].join(""), {
    usage: true,
  }).text;
  assert.equal(eventsOf(onFinish).at(-2), {
    id: "chatcmpl-up",
    object: "chat.completion.chunk",
    created: 1700000000,
    model: "up-model",
    choices: [],
    usage,
  });
  const notAsked = everyCut(
    [...hello.slice(0, 3), chunk({}, "stop", { usage }), DONE].join(""),
  ).text;
  assert.not.match(notAsked, "prompt_tokens");
});

test("errors inside: OpenAI's, vLLM's, OpenRouter's, an error event; what came before them is kept", () => {
  const errors = [
    data({ error: { message: "boom" } }),
    data({ object: "error", message: "boom" }),
    chunk({ content: "" }, "error", { error: { code: 502, message: "boom" } }),
    'event: error\ndata: {"message":"boom"}\n\n',
    data({ error: "boom" }),
    chunk({}, null, {
      choices: [{ index: 0, delta: { content: "b" }, error: { code: 502, message: "boom" } }],
    }),
  ];
  for (const event of errors) {
    const first = everyCut(event + DONE);
    assert.is(first.error, "boom");
    assert.is(first.text, "");
    const later = everyCut(hello.slice(0, 3).join("") + event + DONE);
    assert.is(later.error, "boom");
    assert.is(later.text, hello.slice(0, 3).join(""));
  }
});

test("a choice that finishes with an error and says no more is an error", () => {
  const { text, error } = everyCut([...hello.slice(0, 3), chunk({}, "error"), DONE].join(""));
  assert.is(error, "The upstream ended its response with an error.");
  assert.is(text, hello.slice(0, 3).join(""));
});

test("an error that stands bare among the events", () => {
  const error = { error: { message: "boom", code: 500 } };
  for (const form of [JSON.stringify(error), JSON.stringify(error, null, 2)]) {
    const broken = everyCut(`${chunk({ content: "a" })}${form}\n\n`);
    assert.is(broken.error, "boom");
    assert.is(contentOf(broken.text), "a");
    assert.is(everyCut(`${chunk({ content: "a" })}${form}`).error, "boom");
  }
});

test("an event of 10 MB", () => {
  const big = chunk({ content: "y".repeat(10 * 1024 * 1024) });
  const input = hello[0] + big + hello.slice(3).join("");
  assert.is(run(input, { size: 16384 }).text.length, input.length);
});

test("two choices keep their own state", () => {
  const chunkOf = (index: number, delta: object, finish: string | null = null) =>
    chunk({}, null, { choices: [{ index, delta, finish_reason: finish }] });
  const { text } = everyCut(
    [
      chunkOf(0, { role: "assistant" }),
      chunkOf(1, { content: "b" }),
      chunkOf(0, { content: "a" }),
      chunkOf(0, {}, "stop"),
      DONE,
    ].join(""),
  );
  assertShape(text);
});

test("reasoning under another name is given under ours too", () => {
  const { text } = everyCut(
    [chunk({ role: "assistant", reasoning: "hm" }), chunk({ content: "a" }, "stop"), DONE].join(""),
  );
  assert.is(eventsOf(text)[0].choices[0].delta.reasoning_content, "hm");
});

test("nothing follows [DONE]", () => {
  assert.is(
    everyCut(`${hello.join("")}data: {"error":{"message":"late"}}\n\n${hello[1]}`).text,
    hello.join(""),
  );
});

test.run();
