import { type ChatRequest, isUpstreamError } from "portico/provider";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { gemini } from "../../../plugins/provider-gemini/wire.ts";
import {
  asJson,
  decodeAll,
  decodeCutAnywhere,
  makeTarget,
  readChunks,
  recode,
} from "../../support/target.ts";

const target = makeTarget({ model: "gemini-3-flash" });
const request: ChatRequest = { model: "x", messages: [{ role: "user", content: "Hi" }] };
const sent = await gemini.encode(request, target);
const streamed = await gemini.encode(
  { ...request, stream: true, stream_options: { include_usage: true } },
  target,
);
const decoder = () => recode(gemini, streamed, target);
const decode = (response: object) =>
  asJson(gemini.decode!(Buffer.from(JSON.stringify(response)), sent, target));

const meta = { modelVersion: "gemini-real", responseId: "r1" };
const usageMetadata = {
  promptTokenCount: 10,
  toolUsePromptTokenCount: 2,
  cachedContentTokenCount: 4,
  candidatesTokenCount: 5,
  thoughtsTokenCount: 3,
  totalTokenCount: 20,
};
const usage = {
  prompt_tokens: 12,
  completion_tokens: 8,
  total_tokens: 20,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 3 },
};

test("a whole response is decoded", () => {
  const parts = [
    { text: "hm", thought: true },
    { text: "Hello " },
    { text: "you", thoughtSignature: "s" },
  ];
  const completion = decode({
    candidates: [{ content: { parts }, finishReason: "STOP" }],
    usageMetadata,
    ...meta,
  });
  assert.equal(completion, {
    id: "chatcmpl-r1",
    object: "chat.completion",
    created: target.created,
    model: "gemini-real",
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: "Hello you",
          refusal: null,
          reasoning_content: "hm",
        },
        logprobs: null,
        finish_reason: "stop",
      },
    ],
    usage,
  });
});

test("calls turn STOP into tool_calls, keep or generate ids, and have {} for absent arguments", () => {
  const parts = [
    { functionCall: { name: "a", args: { x: 1 } } },
    { functionCall: { id: "up", name: "b" } },
  ];
  const { message, finish_reason } = decode({
    candidates: [{ content: { parts }, finishReason: "STOP" }],
  }).choices[0]!;
  assert.is(finish_reason, "tool_calls");
  assert.is(message.content, null);
  assert.match(message.tool_calls![0]!.id!, /^call_[a-z0-9]{20,}$/);
  assert.equal(message.tool_calls![0]!.function, { name: "a", arguments: '{"x":1}' });
  assert.equal(message.tool_calls![1], {
    id: "call_up",
    type: "function",
    function: { name: "b", arguments: "{}" },
  });
});

test("every finish reason is translated", () => {
  const reasons = {
    STOP: "stop",
    OTHER: "stop",
    NO_IMAGE: "stop",
    MAX_TOKENS: "length",
    CONTINUATION: "length",
    SAFETY: "content_filter",
    RECITATION: "content_filter",
    LANGUAGE: "content_filter",
    BLOCKLIST: "content_filter",
    PROHIBITED_CONTENT: "content_filter",
    SPII: "content_filter",
    IMAGE_SAFETY: "content_filter",
  };
  for (const [finishReason, expected] of Object.entries(reasons)) {
    const completion = decode({
      candidates: [{ content: { parts: [{ text: "x" }] }, finishReason }],
    });
    assert.is(completion.choices[0]!.finish_reason, expected, finishReason);
  }
  for (const finishReason of [
    "MALFORMED_FUNCTION_CALL",
    "UNEXPECTED_TOOL_CALL",
    "MALFORMED_RESPONSE",
  ]) {
    assert.throws(() => decode({ candidates: [{ finishReason }] }), isUpstreamError);
  }
});

test("a blocked prompt, several candidates, nothing at all", () => {
  const blocked = decode({
    promptFeedback: { blockReason: "SAFETY" },
    usageMetadata: { promptTokenCount: 3 },
  });
  assert.is(blocked.choices[0]!.finish_reason, "content_filter");
  const two = decode({
    candidates: [
      { content: { parts: [{ text: "a" }] }, finishReason: "STOP", index: 0 },
      { content: { parts: [{ text: "b" }] }, finishReason: "STOP", index: 1 },
    ],
  });
  assert.equal(
    two.choices.map((choice) => [choice.index, choice.message.content]),
    [
      [0, "a"],
      [1, "b"],
    ],
  );
  assert.throws(() => decode({ usageMetadata }), isUpstreamError);
  assert.throws(() => decode([{ error: { code: 500, message: "listed" } }]), /listed/);
  assert.throws(
    () => decode({ error: { code: 500, message: "x", status: "INTERNAL" } }),
    isUpstreamError,
  );
});

test("a list of events instead of a stream is one response", () => {
  const piece = (text: string, more: object = {}) => ({ content: { parts: [{ text }] }, ...more });
  const events = [
    { candidates: [piece("a"), piece("x", { index: 1, finishReason: "MAX_TOKENS" })], ...meta },
    { candidates: [piece("b")] },
    {
      candidates: [{ content: { parts: [{ functionCall: { name: "f" } }] }, finishReason: "STOP" }],
      usageMetadata,
    },
  ];
  const completion = decode(events);
  assert.equal(
    completion.choices.map(({ message, finish_reason }) => [
      message.content,
      message.tool_calls?.length,
      finish_reason,
    ]),
    [
      ["ab", 1, "tool_calls"],
      ["x", undefined, "length"],
    ],
  );
  assert.equal([completion.id, completion.usage], ["chatcmpl-r1", usage]);
  assert.throws(() => decode([...events, { error: { code: 500, message: "late" } }]), /late/);
});

test("errors by status and by what they say", () => {
  const body = (status: string, message = "why", details?: unknown[]) =>
    Buffer.from(JSON.stringify({ error: { code: 400, message, status, details } }));
  const kinds: [number, string, string][] = [
    [400, "INVALID_ARGUMENT", "request"],
    [401, "UNAUTHENTICATED", "auth"],
    [403, "PERMISSION_DENIED", "auth"],
    [404, "NOT_FOUND", "request"],
    [500, "INTERNAL", "upstream"],
    [503, "UNAVAILABLE", "overloaded"],
    [504, "DEADLINE_EXCEEDED", "timeout"],
  ];
  for (const [status, code, kind] of kinds) {
    assert.equal(asJson(gemini.error(status, {}, body(code))), { message: "why", kind, code });
  }
  const bad = body("INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", [
    { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" },
  ]);
  assert.is(gemini.error(400, {}, bad).kind, "auth");
  const limited = body("RESOURCE_EXHAUSTED", "slow", [
    { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.5s" },
  ]);
  const { members, ...problem } = gemini.error(429, {}, limited);
  assert.equal(problem, {
    message: "slow",
    kind: "rate_limit",
    code: "RESOURCE_EXHAUSTED",
    retryAfter: 34.5,
  });
  assert.ok(Array.isArray(members?.values["details"]));
  assert.is(gemini.error(400, {}, Buffer.from(`[${body("NOT_FOUND")}]`)).code, "NOT_FOUND");
});

/** Events as the API writes them: CRLF, spaces in the JSON. */
function sse(events: readonly Record<string, unknown>[], end = "\r\n"): Buffer {
  const text = events.map(
    (event) => `data: ${JSON.stringify(event, null, 1).replaceAll("\n", "")}${end}${end}`,
  );
  return Buffer.from(text.join(""));
}
const piece = (parts: unknown[], more: Record<string, unknown> = {}, count = 1) => ({
  candidates: [{ content: { parts, role: "model" }, index: 0, ...more }],
  usageMetadata: { promptTokenCount: 10, totalTokenCount: 10 + count, candidatesTokenCount: count },
  ...meta,
});
const finishes = (chunks: ReturnType<typeof readChunks>) =>
  chunks.flatMap((chunk) => chunk.choices.map((choice) => choice.finish_reason)).filter(Boolean);

test("a stream is decoded alike wherever it is cut", () => {
  const words = ["Hé", 'llo "you"\n', "\\", " 😀", "", "99"];
  for (const newline of ["\n", "\r\n", "\r"]) {
    const stream = sse(
      [
        piece([{ text: "thinking", thought: true }]),
        ...words.map((text, i) => piece([{ text }], {}, 8 + i)),
        { ...piece([{ text: "" }], { finishReason: "STOP" }), usageMetadata },
      ],
      newline,
    );
    const chunks = decodeCutAnywhere(decoder, stream);
    assert.equal(chunks[0]!.choices[0]!.delta, { role: "assistant", content: "" });
    assert.is(
      chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join(""),
      words.join(""),
    );
    assert.is(
      chunks.map((chunk) => chunk.choices[0]?.delta.reasoning_content ?? "").join(""),
      "thinking",
    );
    assert.equal(finishes(chunks), ["stop"]);
    for (const chunk of chunks)
      assert.equal([chunk.id, chunk.model], ["chatcmpl-r1", "gemini-real"]);
    assert.equal(chunks.at(-1)!.usage, usage);
  }
});

test("the usage of the last event counts, though it was not parsed", () => {
  const recoder = decoder();
  recoder.push(sse([piece([{ text: "a" }], {}, 1), piece([{ text: "b" }], {}, 2)]));
  recoder.push(sse([piece([{ text: "c" }], {}, 33)]));
  assert.is(recoder.usage?.completion_tokens, 33);
});

test("an event that only resembles a text event is parsed", () => {
  const stream = sse([
    piece([{ text: "a" }]),
    piece([{ text: "b" }]),
    piece([{ text: "hidden", thought: true }]),
    piece([{ text: "c" }, { functionCall: { name: "f", args: {} } }]),
    piece([{ text: "d" }], { finishReason: "MAX_TOKENS" }),
  ]);
  const chunks = decodeCutAnywhere(decoder2, stream);
  assert.is(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join(""), "abcd");
  assert.is(
    chunks.map((chunk) => chunk.choices[0]?.delta.reasoning_content ?? "").join(""),
    "hidden",
  );
  assert.equal(finishes(chunks), ["length"]);
});
/** Made-up call ids differ from run to run: a call with an id of its own keeps the output equal. */
const decoder2 = () => {
  const recoder = decoder();
  const strip = (bytes: Buffer | undefined) =>
    bytes && Buffer.from(bytes.toString().replace(/call_0p[0-9a-f]+/g, "call_x"));
  return { push: (bytes: Buffer) => strip(recoder.push(bytes)), end: () => strip(recoder.end()) };
};

test("parallel calls one per event keep their places", () => {
  const stream = sse([
    piece([{ functionCall: { id: "u1", name: "a", args: { x: 1 } }, thoughtSignature: "sig" }]),
    piece([{ functionCall: { id: "u2", name: "b" } }]),
    piece([{ text: "" }], { finishReason: "STOP" }),
  ]);
  const chunks = decodeCutAnywhere(decoder, stream);
  const calls = chunks.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? []);
  assert.equal(
    calls.map((call) => [call.index, call.id, call.function?.name, call.function?.arguments]),
    [
      [0, "call_u1", "a", '{"x":1}'],
      [1, "call_u2", "b", "{}"],
    ],
  );
  assert.is(
    (calls[0] as { extra_content?: { google: { thought_signature: string } } }).extra_content
      ?.google.thought_signature,
    "sig",
  );
  assert.equal(finishes(chunks), ["tool_calls"]);
});

test("a finish reason with every event, as older models give it, goes out once, behind all, and knows of later calls", () => {
  const stop = { finishReason: "STOP" };
  const texts = readChunks(
    decodeAll(decoder(), [sse(["a", "b", "c"].map((text) => piece([{ text }], stop)))]),
  );
  assert.is(texts.map((chunk) => chunk.choices[0]?.delta.content ?? "").join(""), "abc");
  assert.equal([finishes(texts), texts.at(-2)!.choices[0]!.finish_reason], [["stop"], "stop"]);
  const call = piece([{ functionCall: { id: "u1", name: "a", args: {} } }]);
  const calls = readChunks(decodeAll(decoder(), [sse([piece([{ text: "a" }], stop), call])]));
  assert.equal(finishes(calls), ["tool_calls"]);
  const cut = decodeAll(decoder(), [
    sse([piece([{ text: "a" }], stop), piece([{ text: "b" }], { finishReason: "SAFETY" })]),
  ]);
  assert.equal(finishes(readChunks(cut)), ["content_filter"]);
});

test("blocked, failed, unfinished and empty streams", () => {
  const blocked = readChunks(
    decodeAll(decoder(), [sse([{ promptFeedback: { blockReason: "SAFETY" }, ...meta }])]),
  );
  assert.equal(finishes(blocked), ["content_filter"]);
  const clean = readChunks(decodeAll(decoder(), [sse([piece([{ text: "x" }])])]));
  assert.equal(finishes(clean), ["stop"]);
  assert.throws(() => decodeAll(decoder(), []), isUpstreamError);
  const torn = decoder();
  torn.push(sse([piece([{ text: "x" }]), piece([{ text: "y" }])]).subarray(0, -40));
  assert.throws(() => torn.end(), isUpstreamError);
  const finished = sse([piece([{ text: "x" }], { finishReason: "STOP" })]);
  const behind = [finished, sse([{ ...meta, usageMetadata }]).subarray(0, -40)];
  assert.equal(finishes(readChunks(decodeAll(decoder(), behind))), ["stop"]);
  const two = decoder();
  two.push(
    sse([
      {
        ...meta,
        candidates: [0, 1].map((index) => ({ index, content: { parts: [{ text: "x" }] } })),
      },
    ]),
  );
  two.push(sse([{ ...meta, candidates: [{ index: 0, finishReason: "STOP" }] }]));
  assert.is(two.finishReason, undefined, "one of two");
  const error = { error: { code: 503, message: "busy", status: "UNAVAILABLE" } };
  const busy = (thrown: unknown) =>
    isUpstreamError(thrown) && thrown.status === 503 && thrown.message === "busy";
  assert.throws(() => decoder().push(sse([error])), busy);
  for (const form of [
    `data: [${JSON.stringify(error)}]\n\n`,
    JSON.stringify(error),
    JSON.stringify(error, null, 2),
  ]) {
    const bare = decoder();
    assert.throws(() => {
      bare.push(Buffer.concat([sse([piece([{ text: "x" }])]), Buffer.from(form)]));
      bare.end();
    }, busy);
  }
  const late = decoder();
  assert.match(late.push(sse([piece([{ text: "x" }]), error]))!.toString(), '"content":"x"');
  assert.throws(() => late.end(), busy);
  const malformed = decoder();
  assert.throws(() => {
    malformed.push(sse([piece([], { finishReason: "MALFORMED_FUNCTION_CALL" })]));
    malformed.end();
  }, isUpstreamError);
});

test.run();
