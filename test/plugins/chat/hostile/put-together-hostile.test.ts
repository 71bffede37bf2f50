/** Secrets that an upstream's response spells only where its parts are put together, or word by word beside the text. */
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../../support/gateway.ts";
import {
  chunk,
  completion,
  DONE,
  json,
  startUpstream,
  stream,
  type Upstream,
} from "../../../support/upstreams/upstream.ts";

const test = suite("secrets in assembled text");
const key = "sk-SECRETkey0a1b2c3d4";
const secretText = `before ${key} after`;
let up: Upstream;
let gateway: InProcessGateway;

test.before(async () => {
  up = await startUpstream((_, res) => json(res, completion("ok")));
  const to = { apiKey: key, maxRetries: 0, models: ["m"] };
  const root = up.url.replace("/v1", "");
  gateway = await startGateway({
    config: {
      channels: {
        main: { provider: "openai", baseUrl: up.url, ...to },
        google: { provider: "gemini", baseUrl: root, ...to },
        claude: { provider: "anthropic", baseUrl: root, ...to },
      },
    },
  });
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});

const cut = (size: number) => secretText.match(new RegExp(`.{1,${size}}`, "g"))!;
const tokens = (pieces: readonly string[]) =>
  pieces.map((token) => {
    const entry = { token, logprob: -1, bytes: [...Buffer.from(token)] };
    return { ...entry, top_logprobs: [entry] };
  });
const user = [{ role: "user", content: "hi" }];
const doors: Record<string, (model: string, stream: boolean) => Promise<Response>> = {
  chat: (model, stream) =>
    gateway.request("POST", "/v1/chat/completions", { model, messages: user, stream }),
  messages: (model, stream) =>
    gateway.request("POST", "/v1/messages", { model, max_tokens: 9, messages: user, stream }),
  responses: (model, stream) =>
    gateway.request("POST", "/v1/responses", { model, input: "hi", stream }),
};

/** The concatenation of all strings of one member, and of all bytes. */
function spelt(text: string): string {
  const members = new Map<string, string>();
  for (const [, name, value] of text.matchAll(/"(\w+)":"((?:[^"\\]|\\.)*)"/g))
    members.set(name!, (members.get(name!) ?? "") + value);
  const bytes = Array.from(text.matchAll(/"bytes":\[([\d,]*)\]/g), ([, list]) =>
    Buffer.from(list!.split(",").map(Number)).toString(),
  );
  return [text, ...members.values(), bytes.join("")].join("\n");
}

async function hides(
  name: string,
  model: string,
  streamed: boolean,
  among: readonly string[] = Object.keys(doors),
) {
  for (const door of among) {
    const response = await doors[door]!(model, streamed);
    const text = await response.text();
    assert.is(response.status, 200, text);
    assert.ok(spelt(text).includes("before "), text);
    assert.not.ok(spelt(text).includes(key), `${name}, ${door}: ${text}`);
  }
}

for (const streamed of [false, true]) {
  test(`adjacent parts of a whole response are masked together for a ${streamed ? "stream" : "whole response"}`, async () => {
    for (const size of [1, 5, 13]) {
      const parts = cut(size).map((text) => ({ type: "text", text }));
      up.answer = (_, res) => json(res, completion(parts as never));
      await hides(`parts of ${size}`, "main/m", streamed);
      if (streamed) continue;
      up.answer = (_, res) =>
        json(res, {
          candidates: [
            { content: { parts: cut(size).map((text) => ({ text })) }, finishReason: "STOP" },
          ],
        });
      await hides(`Gemini's parts of ${size}`, "google/m", false);
      const usage = { input_tokens: 1, output_tokens: 1 };
      up.answer = (_, res) =>
        json(res, {
          id: "msg_1",
          type: "message",
          role: "assistant",
          model: "m",
          content: parts,
          stop_reason: "end_turn",
          usage,
        });
      await hides(`Claude's blocks of ${size}`, "claude/m", false, ["chat", "responses"]);
    }
  });

  test(`tokens of a text that contains a secret are removed, ${streamed ? "streamed" : "whole"}`, async () => {
    for (const size of [1, 3, 8, 60]) {
      const choice = {
        index: 0,
        finish_reason: "stop",
        logprobs: { content: tokens(cut(size)), refusal: null },
      };
      const message = { role: "assistant", content: secretText };
      up.answer = (_, res) =>
        streamed
          ? stream(res, ...cut(size).map((content) => withTokens(content)), chunk({}, "stop"), DONE)
          : json(res, completion("", { choices: [{ ...choice, message }] }));
      await hides(`tokens of ${size}`, "main/m", streamed, ["chat", "responses"]);
    }
  });
}

const withTokens = (content: string) =>
  chunk({ content }).replace(
    '"finish_reason":null',
    `$&,"logprobs":${JSON.stringify({ content: tokens([...content]) })}`,
  );

test("tokens of a text without secrets are kept", async () => {
  const logprobs = { content: tokens(["fine", " words"]), refusal: null };
  const message = { role: "assistant", content: "fine words" };
  up.answer = (_, res) =>
    json(
      res,
      completion("", { choices: [{ index: 0, message, finish_reason: "stop", logprobs }] }),
    );
  const body = (await (await doors["chat"]!("main/m", false)).json()) as any;
  assert.equal(body.choices[0].logprobs, logprobs);
});

test("tokens of a text completion", async () => {
  const logprobs = {
    tokens: cut(4),
    token_logprobs: cut(4).map(() => -1),
    top_logprobs: null,
    text_offset: [0],
  };
  up.answer = (_, res) =>
    json(res, {
      id: "c",
      object: "text_completion",
      choices: [{ index: 0, text: secretText, logprobs }],
    });
  const text = await (
    await gateway.request("POST", "/v1/completions", { model: "main/m", prompt: "say" })
  ).text();
  assert.ok(text.includes("before ********") && !text.includes('"tokens":['), text);
});

test.run();
