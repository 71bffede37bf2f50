/** Inputs that gateways are known to mishandle (`cases/*.json`), each with the right result, over strict upstreams. */
import { readdirSync, readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import { dialects, startProvider } from "../../support/upstreams/index.ts";
import {
  completion,
  data,
  eventsOf,
  hello,
  json,
  type Seen,
  startUpstream,
  stream,
} from "../../support/upstreams/upstream.ts";

const test = suite("inputs that gateways get wrong");

interface Case {
  provider: string;
  channel: string;
  path: string;
  body?: Record<string, unknown>;
  /** The body as a text, if JSON would lose the relevant part. */
  raw?: string;
  /** The upstream's response: whole, or the events of a stream. */
  answer?: object;
  chunks?: (object | string)[];
}

interface Outcome {
  response: Response;
  text: string;
  /** The bodies that the upstream received. */
  sent: any[];
}

type Judge = (outcome: Outcome) => void;

const dir = join(import.meta.dirname, "cases");
const sentBy = ({ sent }: Outcome) => sent.at(-1);
const changed = ({ response }: Outcome) => response.headers.get("x-portico-changed") ?? "";
const dropped = ({ response }: Outcome) => response.headers.get("x-portico-dropped") ?? "";
const CACHE_POINT = { cachePoint: { type: "default" } };

/** The ids of calls and of results in Anthropic's form, in their order. */
function idsIn(messages: any[], type: string, key: string): string[] {
  const blocks = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
  return blocks.filter((block) => block.type === type).map((block) => block[key]);
}

const uniqueIds: Judge = (outcome) => {
  const { messages } = sentBy(outcome);
  const ids = idsIn(messages, "tool_use", "id");
  assert.is(new Set(ids).size, 2);
  assert.equal(idsIn(messages, "tool_result", "tool_use_id"), ids);
  assert.match(changed(outcome), "unique-tool-ids");
};

const objectSchema: Judge = (outcome) => {
  const schema = sentBy(outcome).tools[0].input_schema;
  assert.is(schema.type, "object");
  assert.not.match(JSON.stringify(schema), /null|anyOf|oneOf|allOf/);
};

const streamedAnyway: Judge = ({ text, sent }) => {
  assert.match(text, '"hi"');
  assert.equal(
    sent.map((body) => body.stream_options !== undefined),
    [true, false],
  );
};

/** The calls of a stream, put together by index. */
function callsIn(text: string): { id: string; name: string; arguments: string }[] {
  const calls: any[] = [];
  const deltas = eventsOf(text).flatMap((event) => event.choices?.[0]?.delta?.tool_calls ?? []);
  for (const { index, id, function: call } of deltas) {
    calls[index] ??= { id, name: call.name, arguments: "" };
    calls[index].arguments += call.arguments ?? "";
  }
  return calls;
}

const JUDGES: Record<string, Judge> = {
  "bedrock-cache-marks-lost": (outcome) => {
    const { system, toolConfig, messages } = sentBy(outcome);
    assert.equal(system.at(-1), CACHE_POINT);
    assert.equal(toolConfig.tools.at(-1), CACHE_POINT);
    assert.equal(messages[0].content.at(-1), { cachePoint: { type: "default", ttl: "1h" } });
  },
  "bedrock-document-without-text": (outcome) => {
    const { content } = sentBy(outcome).messages[0];
    assert.ok(content.some(({ text }: any) => typeof text === "string" && text !== ""));
  },
  "bedrock-starts-with-assistant": (outcome) => {
    assert.is(sentBy(outcome).messages[0].role, "user");
    assert.match(changed(outcome), "user-turn-first");
  },
  "deepseek-calls-without-reasoning": (outcome) =>
    assert.is(sentBy(outcome).messages[1].reasoning_content, ""),
  "embeddings-base64-refused": ({ text }) => {
    const { embedding } = JSON.parse(text).data[0];
    assert.equal(
      [...new Float32Array(Uint8Array.from(Buffer.from(embedding, "base64")).buffer)],
      [0.5, -1],
    );
  },
  "empty-strings-in-later-deltas": ({ text }) => {
    assert.not.match(text, /"(?:id|name)":""/);
    assert.equal(callsIn(text), [{ id: "call_1", name: "calc", arguments: '{"x":"2"}' }]);
  },
  "image-mislabelled": (outcome) => {
    const image = sentBy(outcome).messages[0].content.find(({ type }: any) => type === "image");
    assert.is(image.source.media_type, "image/jpeg");
  },
  "legacy-function-calls-repeat-anthropic": uniqueIds,
  "lone-surrogate": (outcome) =>
    assert.match(JSON.stringify(sentBy(outcome)), "cut here \ufffd end"),
  "message-level-cache-mark-lost-anthropic": (outcome) => {
    const marks = JSON.stringify(sentBy(outcome)).match(/"cache_control"/g) ?? [];
    assert.is(marks.length + dropped(outcome).split("cache_control").length - 1, 3);
  },
  "messages-cache-marks-lost-bedrock": (outcome) =>
    assert.is(JSON.stringify(sentBy(outcome)).match(/"cachePoint"/g)?.length, 3),
  "mistral-ends-with-assistant": (outcome) =>
    assert.is(sentBy(outcome).messages.at(-1).prefix, true),
  "mistral-user-after-tool": (outcome) => {
    const roles = sentBy(outcome).messages.map(({ role }: any) => role);
    assert.equal(roles, ["user", "assistant", "tool", "assistant", "user"]);
    assert.match(changed(outcome), "assistant-after-tool");
  },
  "prefill-on-claude-4-6": ({ response, text, sent }) => {
    assert.equal([response.status, JSON.parse(text).error.param], [400, "messages[1]"]);
    assert.is(sent.length, 0);
  },
  "responses-codex-tools": (outcome) => {
    assert.match(dropped(outcome), "tools[1]");
    assert.is(sentBy(outcome).tools.length, 1);
  },
  "same-id-parallel-calls": ({ text }) => {
    const calls = callsIn(text);
    assert.equal(
      calls.map((call) => call.arguments),
      ['{"x":"1"}', '{"x":"2"}'],
    );
    assert.is(calls[0]!.id, "call_0");
    assert.is.not(calls[1]!.id, "call_0");
  },
  "stream-options-added-by-us-empty-stream": streamedAnyway,
  "stream-options-added-by-us-is-refused": streamedAnyway,
  "tool-ids-repeat-over-turns-anthropic": uniqueIds,
  "tool-name-comes-late-messages": ({ text }) => {
    const start = /event: content_block_start\ndata: (.*)\n/.exec(text);
    assert.is(JSON.parse(start![1]!).content_block.name, "calc");
  },
  "tool-schema-anyOf-at-top": objectSchema,
  "tool-schema-properties-null": objectSchema,
  "tool-schema-type-list": objectSchema,
  "tool-schema-type-null": objectSchema,
};

type Answer = (seen: Seen, res: ServerResponse) => void;
const greeting = hello.map((event) => event.replace('"Hel"', '"hi"'));

/** Upstreams whose responses depend on the request. */
const ANSWERS: Record<string, Answer> = {
  "embeddings-base64-refused"({ body }, res) {
    if (body.encoding_format === "base64") return json(res, { error: { message: "no" } }, 400);
    json(res, { object: "list", model: "e", data: [{ index: 0, embedding: [0.5, -1] }] });
  },
  "stream-options-added-by-us-empty-stream": ({ body }, res) =>
    body.stream_options === undefined ? stream(res, ...greeting) : stream(res),
  "stream-options-added-by-us-is-refused"({ body }, res) {
    if (body.stream_options === undefined) return stream(res, ...greeting);
    const error = { message: "Unsupported parameter", type: "invalid_request_error" };
    json(res, { error: { ...error, param: "stream_options", code: "unsupported_parameter" } }, 400);
  },
};

function scripted({ answer, chunks }: Case): Answer {
  return (_, res) => {
    if (chunks === undefined) json(res, answer ?? completion("ok"));
    else stream(res, ...chunks.map(data));
  };
}

async function send(gateway: InProcessGateway, input: Case, more: object): Promise<Response> {
  const { path, raw, body } = input;
  return fetch(gateway.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.token}`, "content-type": "application/json" },
    body: raw ?? JSON.stringify({ ...body, ...more }),
  });
}

function channelsOf({ channel, provider }: Case, baseUrl: string) {
  return { [channel]: { provider, baseUrl, apiKey: "k", models: ["*"], maxRetries: 0 } };
}

const OPENAI_FORMAT = ["openai", "deepseek"];
const names = readdirSync(dir).map((file) => file.replace(/\.json$/, ""));

for (const name of names) {
  const input = JSON.parse(readFileSync(join(dir, `${name}.json`), "utf8")) as Case;

  test(name, async () => {
    const up = await startUpstream(ANSWERS[name] ?? scripted(input));
    const root = up.url.replace("/v1", "");
    const base = OPENAI_FORMAT.includes(input.provider) ? up.url : root;
    const gateway = await startGateway({ config: { channels: channelsOf(input, base) } });
    try {
      const response = await send(gateway, input, {});
      const text = await response.text();
      const judge = JUDGES[name];
      assert.ok(judge, "The case has a judge.");
      judge({ response, text, sent: up.seen.map(({ body }) => body) });
      if (name !== "prefill-on-claude-4-6") assert.is(response.status, 200, text);
    } finally {
      await gateway.stop();
      await up.close();
    }
  });

  const dialect = dialects.find((candidate) => candidate.name === input.provider);
  if (dialect === undefined || name === "prefill-on-claude-4-6") continue;
  if (input.path === "/v1/embeddings") continue;

  test(`${name}: accepted by a strict upstream, whole and streamed`, async () => {
    const up = await startProvider(dialect);
    const channel = { ...dialect.channel(up.root), models: ["*"], maxRetries: 0 };
    const gateway = await startGateway({ config: { channels: { [input.channel]: channel } } });
    try {
      for (const streamed of [false, true]) {
        const response = await send(gateway, input, { stream: streamed });
        const text = await response.text();
        assert.is(response.status, 200, text);
      }
      assert.equal(up.refusals, []);
    } finally {
      await gateway.stop();
      await up.close();
    }
  });
}

test("every case has a judge", () => {
  assert.equal(Object.keys(JUDGES).sort(), names.sort());
});

test.run();
