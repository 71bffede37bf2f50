/** A gateway with channels of every provider, each on a fake of its own, and the `openai` package as the client. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import OpenAI from "openai";
import type { Test } from "uvu";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import {
  type Dialect,
  dialects,
  type FakeProvider,
  type Problem,
  startProvider,
} from "../../support/upstreams/index.ts";

export type Messages = OpenAI.ChatCompletionMessageParam[];
export type Call = OpenAI.ChatCompletionMessageFunctionToolCall;

export const PROBLEMS: readonly Problem[] = [
  "auth",
  "request",
  "rate_limit",
  "overloaded",
  "server",
];
export const ask: Messages = [
  { role: "system", content: "Be brief" },
  { role: "user", content: "Hi" },
];
export const PNG = Buffer.from("\x89PNG\r\n\x1a\n and so on", "latin1");

const images = createServer((_req, res) =>
  res.writeHead(200, { "content-type": "image/png" }).end(PNG),
);
export const fakes = new Map<Dialect, FakeProvider>();
let gateway: InProcessGateway;
export let client: OpenAI;
/** Of a PNG on a server on this machine. */
export let imageUrl: string;

/** Starts everything before the suite's tests and ends it after them. */
export function onScene(test: Test): void {
  test.before(async () => {
    await new Promise<void>((resolve) => images.listen(0, "127.0.0.1", resolve));
    imageUrl = `http://127.0.0.1:${(images.address() as AddressInfo).port}/a.png`;
    const channels: Record<string, unknown> = {};
    for (const dialect of dialects) {
      const fake = await startProvider(dialect);
      fakes.set(dialect, fake);
      const channel = {
        ...dialect.channel(fake.root),
        models: ["*"],
        maxRetries: 0,
        allowPrivateImages: true,
      };
      channels[dialect.name] = channel;
      channels[`${dialect.name}-slow`] = { ...channel, timeoutMs: 150 };
      channels[`${dialect.name}-idle`] = { ...channel, idleTimeoutMs: 500 };
      channels[`${dialect.name}-broken`] = channel;
      channels[`${dialect.name}-guarded`] = { ...channel, allowPrivateImages: false };
      // A failure puts a channel into cooldown, so each kind has its own channel.
      for (const problem of PROBLEMS) channels[`${dialect.name}-${problem}`] = channel;
    }
    const by = (name: string) =>
      `${name}/${dialects.find((dialect) => dialect.name === name)?.model}`;
    const models = {
      any: { targets: ["anthropic", "gemini", "mistral", "bedrock"].map(by), strategy: "fallback" },
    };
    gateway = await startGateway({ config: { channels, models } });
    client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.token, maxRetries: 0 });
  });

  test.after(async () => {
    await gateway?.stop();
    for (const fake of fakes.values()) await fake.close();
    images.closeAllConnections();
    images.close();
  });
}

export type Ask = Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>;

export function requestOf(dialect: Dialect, more: Ask, channel = dialect.name) {
  return { model: `${channel}/${dialect.model}`, messages: ask, ...more };
}

export const whole = (dialect: Dialect, more: Ask = {}) =>
  client.chat.completions.create(requestOf(dialect, more));

/** Assembles a stream, and checks the rules that every stream must keep. */
export async function streamed(dialect: Dialect, more: Ask = {}, channel = dialect.name) {
  const stream = await client.chat.completions.create({
    ...requestOf(dialect, more, channel),
    stream: true,
  });
  const chunks: OpenAI.ChatCompletionChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  const { id, created, model } = chunks[0] ?? {};
  assert.is(chunks[0]?.choices[0]?.delta.role, "assistant", "the role comes first");
  for (const chunk of chunks)
    assert.equal([chunk.id, chunk.created, chunk.model], [id, created, model]);
  const deltas = chunks.flatMap((chunk) => chunk.choices[0]?.delta ?? []);
  const calls: { id?: string; name?: string; args: string }[] = [];
  for (const part of deltas.flatMap((delta) => delta.tool_calls ?? [])) {
    calls[part.index] ??= { args: "" };
    const call = calls[part.index] as (typeof calls)[number];
    if (part.id) call.id = part.id;
    if (part.function?.name) call.name = part.function.name;
    call.args += part.function?.arguments ?? "";
  }
  const finishes = chunks.flatMap((chunk) =>
    chunk.choices.flatMap((choice) => choice.finish_reason ?? []),
  );
  assert.is(finishes.length, 1, "one finish reason");
  return {
    id,
    model,
    text: deltas.map((delta) => delta.content ?? "").join(""),
    reasoning: deltas
      .map((delta) => (delta as { reasoning_content?: string }).reasoning_content ?? "")
      .join(""),
    calls,
    finish: finishes[0],
    usage: chunks.filter((chunk) => chunk.usage).map((chunk) => chunk.usage),
  };
}

/** The error of a call that must fail. */
export async function failure(
  attempt: Promise<unknown>,
): Promise<InstanceType<typeof OpenAI.APIError>> {
  const error = await attempt.then(
    () => assert.unreachable("did not fail"),
    (reason: unknown) => reason,
  );
  assert.instance(error, OpenAI.APIError);
  return error as InstanceType<typeof OpenAI.APIError>;
}
