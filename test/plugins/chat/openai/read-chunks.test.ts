/** Reading our own form back: with a taker of texts it says the same as without one, however the bytes are cut. */
import type { ChatChunk } from "portico/chat";
import * as assert from "uvu/assert";
import { readChunks } from "../../../../plugins/chat/openai/read-chunks.ts";
import { suite } from "../../../support/suite.ts";

const test = suite("the reader of chunks");
const head = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m" };

function event(delta: object, more: object = {}, beside: object = {}): string {
  const choice = { index: 0, delta, finish_reason: null, ...more };
  return `data: ${JSON.stringify({ ...head, choices: [choice], ...beside })}\n\n`;
}
const text = (content: string) => event({ content });

/** What a stream says, and how much of it came as texts. */
function read(stream: string, cut = stream.length): { said: unknown[]; texts: number } {
  const said: unknown[] = [];
  let texts = 0;
  const reader = readChunks(
    (chunk) => said.push(chunk),
    (more) => {
      texts++;
      const choices = [{ index: 0, delta: { content: more }, finish_reason: null }];
      said.push({ ...head, choices });
    },
  );
  const bytes = Buffer.from(stream);
  for (let at = 0; at < bytes.length; at += cut) reader.push(bytes.subarray(at, at + cut));
  return { said, texts };
}

function chunksOf(stream: string): ChatChunk[] {
  const chunks: ChatChunk[] = [];
  readChunks((chunk) => chunks.push(chunk)).push(Buffer.from(stream));
  return chunks;
}

test("texts are the same, whatever is in them and wherever they are cut", () => {
  const texts = [
    "a",
    " b",
    'a "quoted" \\ one',
    "\n\n",
    "é日本語😀",
    "\ud83d",
    "\ude00",
    "\u0000\u2028",
    "data: x",
    '{"content":"x"}',
  ];
  const stream = `${event({ role: "assistant", content: "" })}${texts.map(text).join("")}${text("z")}data: [DONE]\n\n`;
  const whole = chunksOf(stream);
  assert.is(whole.length, texts.length + 2);
  for (const cut of [stream.length, 1, 7, 100, 333])
    assert.equal(read(stream, cut).said, whole, `cut at ${cut}`);
  // the first one is learned from
  assert.is(read(stream).texts, texts.length);
});

test("a chunk that says more than a text comes as a chunk", () => {
  const others = [
    event({ content: "x" }, { index: 1 }),
    event({ content: "x" }, { finish_reason: "stop" }),
    event({ content: "x" }, { logprobs: { content: [{ token: "x", logprob: -1 }] } }),
    event(
      { content: "x" },
      {},
      { usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } },
    ),
    event({ content: "x", reasoning_content: "y" }),
    event({ reasoning_content: "y" }),
    event({ content: null }),
  ];
  for (const other of others) {
    const stream = text("a") + text("b") + other + other + text("c");
    const { said, texts } = read(stream);
    assert.equal(said, chunksOf(stream), other);
    assert.is(texts, 2, other);
  }
});

test("a string that is not JSON is no text", () => {
  const broken = text("a") + text("%").replace("%", "\\x");
  assert.throws(() => read(broken), SyntaxError);
});

test.run();
