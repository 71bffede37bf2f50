/** Handlers that see and change what OpenAI's routes beside chat say: texts in every form, whole and streamed. */
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { json, stream } from "../../support/upstreams/upstream.ts";

const test = suite("sending of openai routes");
let server: Server;
let gateway: InProcessGateway;
let respond: (res: ServerResponse) => unknown;

const GUARD = `
import { definePlugin } from "portico";
export default definePlugin({ name: "guard", setup(ctx) {
  let undos = [];
  const held = new Map();
  ctx.route("POST", "/t/mode", { access: "gateway" }, async (call) => {
    for (const undo of undos.splice(0)) undo();
    const { mode } = await call.json();
    if (mode.includes("sending")) undos.push(ctx.on("message:sending", ({ context }) => {
      if (context.content.includes("NEVER")) return { block: "not this" };
      context.content = context.content.replaceAll("SECRET", "[gone]");
    }));
    if (mode.includes("streaming")) undos.push(ctx.on("message:streaming", ({ context }) => {
      const { streamId, text, final } = context;
      const all = ((held.get(streamId) ?? "") + text).replaceAll("SECRET", "[gone]");
      const keep = final ? 0 : [5, 4, 3, 2, 1].find((n) => all.endsWith("SECRET".slice(0, n))) ?? 0;
      held.set(streamId, all.slice(all.length - keep));
      context.text = all.slice(0, all.length - keep);
    }));
    return {};
  });
} });`;

test.before(async () => {
  server = createServer((req, res) => req.resume().on("end", () => respond(res)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  gateway = await startGateway({
    config: { channels: { main: { provider: "openai", baseUrl, maxRetries: 0 } } },
    files: { "plugins/guard/plugin.ts": GUARD },
  });
});
test.after(async () => {
  await gateway?.stop();
  server?.close();
});

const mode = (name: string) => gateway.json("POST", "/t/mode", { mode: name });
const complete = (streamed: boolean) =>
  gateway.request("POST", "/v1/completions", { model: "main/x", prompt: "say", stream: streamed });
function transcribe(fields: Record<string, string> = {}): Promise<Response> {
  const form = new FormData();
  form.set("model", "main/whisper");
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  form.set("file", new Blob(["sound"]), "a.mp3");
  const headers = { authorization: `Bearer ${gateway.token}` };
  return fetch(`${gateway.url}/v1/audio/transcriptions`, { method: "POST", headers, body: form });
}
const event = (value: object) => `data: ${JSON.stringify(value)}\n\n`;
const piece = (text: string, finish_reason: string | null = null, index = 0) =>
  event({
    id: "c",
    object: "text_completion",
    choices: [{ index, text, finish_reason, logprobs: null }],
  });
const saidIn = (text: string, member: string) =>
  Array.from(
    text.matchAll(new RegExp(`"${member}":"((?:[^"\\\\]|\\\\.)*)"`, "g")),
    ([, data]) => data,
  ).join("");

test("hooks change and refuse each text of a whole completion", async () => {
  await mode("sending");
  const choices = ["a SECRET", "none"].map((text, index) => ({
    text,
    index,
    finish_reason: "stop",
  }));
  respond = (res) =>
    json(res, { choices, odd: 1, usage: { prompt_tokens: 1, completion_tokens: 1 } });
  const body = (await (await complete(false)).json()) as any;
  assert.equal(
    [body.choices.map((choice: any) => choice.text), body.odd],
    [["a [gone]", "none"], 1],
  );
  respond = (res) => json(res, { choices: [{ text: "NEVER", index: 0 }] });
  const refused = await complete(false);
  assert.is(refused.status, 403);
  assert.match(await refused.text(), /not this/);
});

test("completions in chat's form, whole and streamed, are seen as well", async () => {
  await mode("sending");
  respond = (res) =>
    json(res, { choices: [{ index: 0, message: { role: "assistant", content: "a SECRET" } }] });
  assert.match(await (await complete(false)).text(), '"content":"a [gone]"');
  for (const hookMode of ["sending", "streaming"]) {
    await mode(hookMode);
    const contentEvent = (content: string) =>
      event({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });
    const end = event({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
    respond = (res) =>
      stream(res, contentEvent("a SEC"), contentEvent("RET, SE"), end, "data: [DONE]\n\n");
    const text = await (await complete(true)).text();
    assert.is(saidIn(text, "content"), "a [gone], SE", hookMode);
    assert.ok(text.endsWith("data: [DONE]\n\n"), text);
  }
});

for (const size of [1, 2, 4, 7, 40]) {
  const pieces = "a SECRET, SE and SECRETSECRET SEC".match(new RegExp(`.{1,${size}}`, "g"))!;
  for (const hookMode of ["sending", "streaming", "sending streaming"]) {
    test(`a stream of a completion in pieces of ${size}: message:${hookMode.replace(" ", ", message:")}`, async () => {
      await mode(hookMode);
      const usage = event({
        id: "c",
        choices: [],
        usage: { prompt_tokens: 1, completion_tokens: 9 },
      });
      const other = [piece("SECRET too", null, 1), piece("", "length", 1)];
      respond = (res) =>
        stream(
          res,
          ...pieces.map((text) => piece(text)),
          piece("", "stop"),
          ...other,
          usage,
          "data: [DONE]\n\n",
        );
      const text = await (await complete(true)).text();
      assert.ok(!/SECRET/.test(text) && text.endsWith("data: [DONE]\n\n"), text);
      assert.is(saidIn(text, "text"), "a [gone], SE and [gone][gone] SEC[gone] too");
      assert.is(saidIn(text, "finish_reason"), "stoplength");
      assert.match(text, '"completion_tokens":9');
      assert.match(text, '"index":1');
    });
    test(`a stream of a transcription in pieces of ${size}: message:${hookMode.replace(" ", ", message:")}`, async () => {
      await mode(hookMode);
      const deltas = pieces.map((delta) => event({ type: "transcript.text.delta", delta }));
      const done = event({
        type: "transcript.text.done",
        text: pieces.join(""),
        usage: { type: "tokens" },
      });
      respond = (res) => stream(res, ...deltas, done, "data: [DONE]\n\n");
      const text = await (await transcribe({ stream: "true" })).text();
      assert.not.match(text, /SECRET/);
      assert.is(saidIn(text, "delta"), "a [gone], SE and [gone][gone] SEC");
      assert.is(saidIn(text, "text"), "a [gone], SE and [gone][gone] SEC");
    });
  }
}

test("a stream that is refused ends with an error, and none of its text went out", async () => {
  await mode("sending");
  respond = (res) => stream(res, piece("NE"), piece("VER"), piece("", "stop"), "data: [DONE]\n\n");
  const response = await complete(true);
  assert.is(response.status, 200);
  const text = await response.text();
  assert.match(text, /blocked_by_hook/);
  assert.not.match(text, /VER/);
});

test("transcriptions as JSON, verbose, as text and as subtitles", async () => {
  await mode("sending");
  const segments = [{ id: 0, text: "a SECRET", words: [{ word: "SECRET" }] }];
  respond = (res) =>
    json(res, { text: "a SECRET", language: "en", segments, words: [{ word: "SECRET" }] });
  assert.equal(await (await transcribe()).json(), {
    text: "a [gone]",
    language: "en",
    segments: [{ id: 0, text: "a [gone]" }],
  });
  const subtitles = "1\n00:00:00,000 --> 00:00:01,000\na SECRET\n";
  respond = (res) => {
    res.writeHead(200, {
      "content-type": "text/plain; charset=utf-8",
      "content-length": subtitles.length,
    });
    res.end(subtitles);
  };
  const response = await transcribe({ response_format: "srt" });
  assert.is(await response.text(), subtitles.replace("SECRET", "[gone]"));
});

test("members that repeat a changed text are removed: its tokens and segments", async () => {
  const pieces = ["a SEC", "RET is", " out"];
  const probabilities = pieces.map((token) => ({
    token,
    logprob: -1,
    bytes: [...Buffer.from(token)],
  }));
  const logprobs = {
    tokens: pieces,
    token_logprobs: [-1, -1, -1],
    top_logprobs: null,
    text_offset: [0, 5, 11],
  };
  const text = pieces.join("");
  await mode("sending");
  respond = (res) =>
    json(res, {
      choices: [
        { index: 0, text, logprobs },
        { index: 1, message: { content: text }, logprobs },
      ],
    });
  const body = (await (await complete(false)).json()) as any;
  assert.equal(
    body.choices.map((choice: any) => choice.logprobs),
    [null, null],
  );
  const segments = pieces.map((text, id) => ({ id, text }));
  respond = (res) => json(res, { text, segments, logprobs: probabilities });
  assert.equal(await (await transcribe()).json(), { text: "a [gone] is out", logprobs: null });
  respond = (res) =>
    json(res, { text: `SECRET ${text}`, segments: [{ id: 9, text: "SECRET" }, ...segments] });
  assert.equal(await (await transcribe()).json(), { text: "[gone] a [gone] is out" });

  const events = pieces.map((delta, i) =>
    event({ type: "transcript.text.delta", delta, logprobs: [probabilities[i]] }),
  );
  events.push(event({ type: "transcript.text.done", text, logprobs: probabilities }));
  const choices = pieces.map((text, i) =>
    event({
      id: "c",
      choices: [{ index: 0, text, finish_reason: null, logprobs: { tokens: [pieces[i]] } }],
    }),
  );
  for (const hookMode of ["sending", "streaming"]) {
    await mode(hookMode);
    respond = (res) => stream(res, ...events);
    const transcript = await (await transcribe({ stream: "true" })).text();
    assert.not.ok(/SEC|RET is|"token":"a/.test(transcript), transcript);
    respond = (res) => stream(res, ...choices, piece("", "stop"), "data: [DONE]\n\n");
    const completion = await (await complete(true)).text();
    assert.not.ok(/SEC|RET is/.test(completion), completion);
  }
  respond = (res) =>
    stream(res, event({ choices: [{ index: 0, text: "fine", logprobs: { tokens: ["fine"] } }] }));
  assert.match(await (await complete(true)).text(), /"tokens":\["fine"\]/);
});

test("words and tokens without a text are removed where a hook judges texts, and segments without a whole text are judged", async () => {
  const words = [{ word: "SECRET" }];
  const logprobs = [{ token: "SECRET" }];
  await mode("sending");
  const bodies: [object, object][] = [
    [{ text: "", words, logprobs }, { text: "" }],
    [{ language: "en", words }, { language: "en" }],
    [
      {
        text: "fine",
        segments: [
          { id: 0, words },
          { id: 1, text: "", words },
          { id: 2, text: "fine" },
        ],
      },
      { text: "fine", segments: [{ id: 0 }, { id: 1, text: "" }, { id: 2, text: "fine" }] },
    ],
    [{ segments: [{ text: "a SECRET", words }] }, { segments: [{ text: "a [gone]" }] }],
  ];
  for (const [original, expected] of bodies) {
    respond = (res) => json(res, original);
    assert.equal(await (await transcribe()).json(), expected);
  }
  respond = (res) =>
    json(res, { choices: [{ index: 0, text: "", logprobs: { tokens: ["SECRET"] } }] });
  assert.equal(await (await complete(false)).json(), { choices: [{ index: 0, text: "" }] });
  for (const hookMode of ["sending", "streaming"]) {
    await mode(hookMode);
    respond = (res) => stream(res, event({ type: "transcript.text.delta", delta: "", logprobs }));
    assert.not.match(await (await transcribe({ stream: "true" })).text(), /SECRET/);
    respond = (res) =>
      stream(
        res,
        event({ choices: [{ index: 0, text: "", logprobs: { tokens: ["SECRET"] } }] }),
        piece("", "stop"),
      );
    assert.not.match(await (await complete(true)).text(), /SECRET/);
  }
});

test("a response that handlers leave unchanged is sent byte for byte, as is audio", async () => {
  const bytes = `{ "choices" : [{"text":"é", "index":0}] }`;
  const raw =
    piece("x") +
    'data: {"choices":[{"index":0,"text":"","finish_reason":"stop"}] }\n\n' +
    "data: [DONE]\n\n";
  for (const hookMode of ["", "sending"]) {
    await mode(hookMode);
    respond = (res) => {
      res.writeHead(200, { "content-type": "application/json" });
      res.end(bytes);
    };
    assert.is(await (await complete(false)).text(), bytes);
    respond = (res) => stream(res, raw);
    assert.is(await (await complete(true)).text(), raw);
  }
  respond = (res) => {
    res.writeHead(200, { "content-type": "audio/mpeg" });
    res.end("SECRET");
  };
  const sound = await gateway.request("POST", "/v1/audio/speech", {
    model: "main/t",
    input: "x",
    voice: "y",
  });
  assert.is(await sound.text(), "SECRET");
});

test.run();
