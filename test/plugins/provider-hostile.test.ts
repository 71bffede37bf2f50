/** Requests and responses of any shape take providers time in proportion, and end in a response or a 400. */
import type { ChatRequest, WireProvider } from "portico/provider";
import { test } from "../support/suite.ts";
import * as assert from "uvu/assert";
import { anthropic } from "../../plugins/provider-anthropic/wire.ts";
import { createBedrock } from "../../plugins/provider-bedrock/wire.ts";
import { gemini } from "../../plugins/provider-gemini/wire.ts";
import { mistral } from "../../plugins/provider-mistral/wire.ts";
import { ollama } from "../../plugins/provider-ollama/wire.ts";
import { readMessages } from "../../plugins/messages/request.ts";
import { MessagesEncoder } from "../../plugins/messages/stream.ts";
import { Reading } from "../../plugins/responses/reading.ts";
import { ToolTable } from "../../plugins/responses/tools/tool-table.ts";
import { readItems } from "../../plugins/responses/items.ts";
import { newResponse } from "../../plugins/responses/response.ts";
import { createEncoder as createResponseStream } from "../../plugins/responses/stream.ts";
import { acceptChunks } from "../support/chunks.ts";
import { assertLinear, assertLinearAsync } from "../support/growth.ts";
import { makeTarget, recode } from "../support/target.ts";
import { event } from "../support/upstreams/frames.ts";

const times = <T>(n: number, make: (i: number) => T): T[] =>
  Array.from({ length: n }, (_, i) => make(i));
const user = { role: "user", content: "Hi" };
const call = (i: number, name = "f") => ({
  id: `c${i}`,
  type: "function",
  function: { name, arguments: "{}" },
});
const result = (i: number) => ({ role: "tool", tool_call_id: `c${i}`, content: "done" });
const tool = (i: number) => ({
  type: "function",
  function: { name: `t.${i}`, parameters: { type: "object" } },
});
const asking = (fields: object): ChatRequest => ({ model: "m", messages: [user], ...fields });

const requests: Record<string, (n: number) => ChatRequest> = {
  "calls and their results": (n) =>
    asking({
      messages: [
        user,
        { role: "assistant", tool_calls: times(n, (i) => call(i)) },
        ...times(n, result).reverse(),
      ],
    }),
  "calls and results by name": (n) =>
    asking({
      messages: [
        user,
        { role: "assistant", tool_calls: times(n, (i) => call(i, `f${i}`)) },
        ...times(n, (i) => ({ role: "function", name: `f${n - 1 - i}`, content: "done" })),
      ],
    }),
  "turns of one role": (n) =>
    asking({
      messages: [
        user,
        ...times(n, () => ({ role: "assistant", content: "a", reasoning_content: "r" })),
      ],
    }),
  "parts of one turn": (n) =>
    asking({
      messages: [user, { role: "user", content: times(n, () => ({ type: "text", text: "a" })) }],
    }),
  "names that are dropped": (n) =>
    asking({ messages: times(n, (i) => ({ ...user, name: `n${i}` })) }),
  "tools with odd names": (n) => asking({ tools: times(n, tool) }),
  "allowed tools": (n) =>
    asking({
      tools: times(n, tool),
      tool_choice: {
        type: "allowed_tools",
        allowed_tools: { mode: "auto", tools: times(n, tool) },
      },
    }),
  "unknown fields": (n) => asking(Object.fromEntries(times(n, (i) => [`x${i}`, 1]))),
  stops: (n) => asking({ stop: times(n, () => " ") }),
  metadata: (n) => asking({ metadata: Object.fromEntries(times(n, (i) => [`k${i}`, "ü"])) }),
  "white space": (n) =>
    asking({ messages: [user, { role: "assistant", content: `a${" ".repeat(n * 50)}` }] }),
  "a file's name": (n) =>
    asking({
      messages: [
        {
          role: "user",
          content: [
            {
              type: "file",
              file: {
                filename: ".a".repeat(n * 20),
                file_data: "data:application/pdf;base64,JVBERi0=",
              },
            },
          ],
        },
      ],
    }),
};

const providers: [string, WireProvider, string][] = [
  ["anthropic", anthropic, "claude-sonnet-4-5"],
  ["bedrock", createBedrock({ env: {}, now: () => new Date() }), "anthropic.claude-sonnet-4-5"],
  ["gemini", gemini, "gemini-3-flash"],
  ["mistral", mistral, "mistral-large"],
  ["ollama", ollama, "llama3"],
];

/** Requests are read in one place for all of them: one provider gets all shapes, the others what they write themselves. */
const written = ["calls and their results", "tools with odd names", "metadata"];

for (const [name, wire, model] of providers) {
  test(`${name}: requests of any size`, async () => {
    const target = makeTarget({ model });
    const shapes = name === "anthropic" ? Object.keys(requests) : written;
    for (const what of shapes)
      await assertLinearAsync(`${name}, ${what}`, 600, requests[what]!, async (request) =>
        wire.encode(request, target),
      );
  });
}

test("lists longer than a call takes arguments", async () => {
  for (const what of ["parts of one turn", "turns of one role"]) {
    for (const [, wire, model] of providers)
      await wire.encode(requests[what]!(130_000), makeTarget({ model }));
  }
});

const data = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const streams: [string, WireProvider, (n: number) => Buffer][] = [
  [
    "anthropic",
    anthropic,
    (n) =>
      Buffer.from(
        times(n, (i) =>
          data({
            type: "content_block_start",
            index: i,
            content_block: { type: "tool_use", id: `t${i}`, name: "f" },
          }),
        ).join(""),
      ),
  ],
  [
    "bedrock",
    createBedrock({ env: {}, now: () => new Date() }),
    (n) =>
      Buffer.concat(
        times(n, (i) =>
          event("contentBlockStart", {
            contentBlockIndex: i,
            start: { toolUse: { toolUseId: `t${i}`, name: "f" } },
          }),
        ),
      ),
  ],
  [
    "gemini",
    gemini,
    (n) =>
      Buffer.from(
        times(n, () =>
          data({ candidates: [{ content: { parts: [{ functionCall: { name: "f" } }] } }] }),
        ).join(""),
      ),
  ],
  [
    "mistral",
    mistral,
    (n) =>
      Buffer.from(
        times(n, (i) =>
          data({
            choices: [
              { index: i, delta: { tool_calls: [{ id: `t${i}`, function: { name: "f" } }] } },
            ],
          }),
        ).join(""),
      ),
  ],
  [
    "ollama",
    ollama,
    (n) =>
      Buffer.from(
        times(
          n,
          () =>
            `${JSON.stringify({ message: { content: "", tool_calls: [{ function: { name: "f" } }] } })}\n`,
        ).join(""),
      ),
  ],
];

test("streams of thousands of calls, whole and byte by byte", async () => {
  for (const [name, wire, make] of streams) {
    const target = makeTarget({ model: "claude-sonnet-4-5" });
    const sent = await wire.encode(asking({ stream: true }), target);
    assertLinear(`${name}, one chunk`, 250, make, (bytes) =>
      recode(wire, sent, target).push(bytes),
    );
    assertLinear(`${name}, many chunks`, 6, make, (bytes) => {
      const decoder = recode(wire, sent, target);
      for (let i = 0; i < bytes.length; i++) decoder.push(bytes.subarray(i, i + 1));
    });
    const line = Buffer.from(`data: ${"x".repeat(1000)}`);
    assertLinear(
      `${name}, a line without an end`,
      200,
      (n) => n,
      (n) => {
        const decoder = recode(wire, sent, target);
        for (let i = 0; i < n; i++) decoder.push(line);
      },
    );
  }
});

const chunk = (delta: object) => ({
  id: "c",
  object: "chat.completion.chunk" as const,
  created: 1,
  model: "m",
  choices: [{ index: 0, delta, finish_reason: null }],
});

test("messages and responses: streams of calls that never end, mixed with text", () => {
  const mixed = (n: number) =>
    times(n, (i) =>
      chunk({
        tool_calls: [{ index: i, id: `t${i}`, function: { name: "f", arguments: '{"a":' } }],
      }),
    );
  const turns = (n: number) => mixed(n).flatMap((item) => [item, chunk({ content: "a" })]);
  for (const make of [mixed, turns]) {
    assertLinear("messages", 250, make, (chunks) => {
      const stream = acceptChunks(new MessagesEncoder("m", "r"));
      for (const chunk of chunks) stream.chunk(chunk);
      void stream.end();
    });
    assertLinear("responses", 250, make, (chunks) => {
      const stream = acceptChunks(
        createResponseStream(
          newResponse("resp_1", { model: "m" }, false),
          () => undefined,
          (name) => ({ kind: "function", name }),
        ),
      );
      for (const chunk of chunks) stream.chunk(chunk);
      void stream.end();
    });
  }
});

const sealed = (value: unknown) =>
  `portico.${Buffer.from(JSON.stringify(value)).toString("base64url")}`;

test("items and blocks in any number; what was made up is no failure", () => {
  const context = () => ({
    pathOf: (i: number) => `input[${i}]`,
    tools: new ToolTable(),
    reading: new Reading(),
  });
  const shapes: ((n: number) => Record<string, unknown>[])[] = [
    (n) => [
      ...times(n, (i) => ({
        type: "reasoning",
        encrypted_content: sealed({ calls: { [`c${i}`]: 1 } }),
      })),
      ...times(n, (i) => ({ type: "function_call", call_id: `c${i}`, name: "f", arguments: "{}" })),
    ],
    (n) => [{ role: "assistant", content: times(n, () => ({ type: "refusal", refusal: "no" })) }],
    (n) =>
      times(n, () => ({
        type: "function_call_output",
        call_id: "c",
        output: [{ type: "input_image", image_url: "data:," }],
      })),
  ];
  for (const [i, make] of shapes.entries())
    assertLinear(`items ${i}`, 1000, make, (items) => readItems(items, context()));
  const blocks = (n: number) => ({
    model: "m",
    max_tokens: 1,
    messages: [
      {
        role: "assistant",
        content: [
          ...times(n, (i) => ({ type: "redacted_thinking", data: sealed({ calls: { [i]: 1 } }) })),
          ...times(n, (i) => ({ type: "tool_use", id: String(i), name: "f", input: {} })),
        ],
      },
    ],
  });
  assertLinear("blocks", 1000, blocks, (body) => readMessages(body));
  for (const value of [
    null,
    1,
    "x",
    [],
    { calls: null },
    { calls: "x" },
    { calls: [1] },
    { message: null },
  ])
    readItems(
      [
        { type: "reasoning", encrypted_content: sealed(value) },
        { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
      ],
      context(),
    );
});

const ARGS = { city: "P", none: null };
/** What each upstream says whole, and in events. */
const samples: Record<
  string,
  { whole: object; events: object[]; encode(events: object[]): Buffer; members: string }
> = {
  anthropic: {
    whole: {
      type: "message",
      content: [
        { type: "text", text: "Hi" },
        { type: "tool_use", id: "t", name: "f", input: ARGS },
      ],
      stop_reason: "tool_use",
      usage: { input_tokens: 1, output_tokens: 2 },
    },
    events: [
      { type: "message_start", message: { content: [], usage: { input_tokens: 1 } } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "Hi" } },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
      { type: "message_stop" },
    ],
    encode: (events) => Buffer.from(events.map(data).join("")),
    members:
      "error message delta usage text thinking signature data id name content_block output_tokens_details",
  },
  bedrock: {
    whole: {
      output: {
        message: {
          content: [{ text: "Hi" }, { toolUse: { toolUseId: "t", name: "f", input: ARGS } }],
        },
      },
      stopReason: "tool_use",
      usage: { inputTokens: 1, outputTokens: 2 },
    },
    events: [
      { type: "contentBlockStart", contentBlockIndex: 0, start: {} },
      { type: "contentBlockDelta", contentBlockIndex: 0, delta: { text: "Hi" } },
      {
        type: "contentBlockStart",
        contentBlockIndex: 1,
        start: { toolUse: { toolUseId: "t", name: "f" } },
      },
      { type: "messageStop", stopReason: "tool_use" },
      { type: "metadata", usage: { inputTokens: 1, outputTokens: 2 } },
    ],
    encode: (events) =>
      Buffer.concat(events.map((data) => event((data as { type: string }).type, { ...data }))),
    members:
      "text toolUse reasoningContent reasoningText redactedContent usage start delta cacheReadInputTokens",
  },
  gemini: {
    whole: {
      candidates: [
        {
          content: { parts: [{ text: "Hi" }, { functionCall: { name: "f", args: ARGS } }] },
          finishReason: "STOP",
        },
      ],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 2 },
    },
    events: [
      { candidates: [{ content: { parts: [{ text: "Hi" }] } }] },
      {
        candidates: [
          {
            content: { parts: [{ functionCall: { name: "f", args: ARGS } }] },
            finishReason: "STOP",
          },
        ],
      },
    ],
    encode: (events) => Buffer.from(events.map(data).join("")),
    members:
      "error candidates promptFeedback usageMetadata content parts finishReason finishMessage text thought functionCall inlineData id index",
  },
  mistral: {
    whole: {
      choices: [
        {
          message: {
            content: "Hi",
            tool_calls: [{ id: "t", function: { name: "f", arguments: ARGS } }],
          },
          finish_reason: "tool_calls",
        },
      ],
      usage: { prompt_tokens: 1, completion_tokens: 2 },
    },
    events: [
      { choices: [{ delta: { content: "Hi" } }] },
      {
        choices: [
          { delta: { tool_calls: [{ id: "t", function: { name: "f", arguments: ARGS } }] } },
        ],
      },
      { choices: [{ delta: {}, finish_reason: "tool_calls" }] },
    ],
    encode: (events) => Buffer.from(`${events.map(data).join("")}data: [DONE]\n\n`),
    members:
      "error object message index content tool_calls finish_reason usage prompt_tokens_details",
  },
  ollama: {
    whole: {
      message: { content: "Hi" },
      done: true,
      done_reason: "stop",
      prompt_eval_count: 1,
      eval_count: 2,
    },
    events: [
      { message: { content: "Hi" } },
      { message: { tool_calls: [{ function: { name: "f", arguments: ARGS } }] } },
      { done: true, done_reason: "stop", prompt_eval_count: 1, eval_count: 2 },
    ],
    encode: (events) => Buffer.from(events.map((data) => `${JSON.stringify(data)}\n`).join("")),
    members:
      "error message content thinking tool_calls done done_reason eval_count prompt_eval_count",
  },
};

/** Each object has the member, null where it had none; but what a model wrote stays as it is. */
function withNull(value: unknown, member: string): unknown {
  if (value === ARGS || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withNull(item, member));
  const members = Object.entries(value).map(([key, memberValue]) => [
    key,
    withNull(memberValue, member),
  ]);
  return { [member]: null, ...Object.fromEntries(members) };
}

test("errors of odd shapes; a body's general words do not gainsay the status", () => {
  const words: Record<string, object> = {
    anthropic: { type: "invalid_request_error", message: "no" },
    bedrock: {},
    gemini: { status: "INVALID_ARGUMENT", message: "no" },
    mistral: { type: "invalid_request_error", message: "no" },
    ollama: { message: "no" },
  };
  const aws = { "x-amzn-errortype": "ValidationException" };
  const kinds = {
    400: "request",
    401: "auth",
    402: "auth",
    403: "auth",
    404: "request",
    408: "timeout",
    422: "request",
  };
  const failures = {
    429: "rate_limit",
    500: "upstream",
    502: "upstream",
    503: "overloaded",
    504: "timeout",
  };
  for (const [name, wire] of providers) {
    for (const [status, kind] of Object.entries({ ...kinds, ...failures })) {
      for (const details of [undefined, null, "x", [null], [{ reason: 7, retryDelay: 5 }], {}]) {
        const body = Buffer.from(
          JSON.stringify({ error: { ...words[name], details }, message: "no" }),
        );
        const problem = wire.error!(Number(status), name === "bedrock" ? aws : {}, body);
        assert.is(problem.kind, kind, `${name}, ${status}, ${JSON.stringify(details)}`);
        assert.is(problem.message, "no");
      }
    }
  }
});

/** Ids that are made here differ from call to call. */
const withoutIds = (text: string) => text.replace(/"call_[^"]*"/g, '"call"');

for (const [name, wire, model] of providers) {
  test(`${name}: a member that is null says nothing, whole and in streams`, async () => {
    const { whole, events, encode, members } = samples[name]!;
    const target = makeTarget({ model });
    const sent = await wire.encode(asking({}), target);
    const decoded = (value: unknown) =>
      withoutIds(JSON.stringify(wire.decode!(Buffer.from(JSON.stringify(value)), sent, target)));
    const streamed = (list: object[]) => {
      const decoder = recode(wire, sent, target);
      const out = [decoder.push(encode(list)), decoder.end()]
        .map((bytes) => bytes?.toString() ?? "")
        .join("");
      assert.is(decoder.failure, undefined, String(decoder.failure));
      return withoutIds(out);
    };
    for (const member of members.split(" ")) {
      assert.is(decoded(withNull(whole, member)), decoded(whole), `whole, ${member}`);
      assert.is(
        streamed(withNull(events, member) as object[]),
        streamed(events),
        `stream, ${member}`,
      );
    }
    if (name !== "ollama")
      assert.ok(decoded(whole).includes("none"), "a null that a model wrote stays");
  });
}

test.run();
