/** Handlers that receive and change outgoing responses: every format, whole and streamed. */
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway, removeRequestIds } from "../../support/gateway.ts";
import { until } from "../../support/until.ts";
import {
  chunk,
  completion,
  contentOf,
  DONE,
  eventsOf,
  hello,
  json,
  startUpstream,
  stream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";

const test = suite("sending");
let up: Upstream;
let gateway: InProcessGateway;

/** Registers and forgets handlers on demand: `redact`, `upper`, `block`, `throw`, `reply`, `refuse`. */
const guard = `
import { definePlugin } from "portico";
let mode = "";
const heard = [];
const kept = new Map();
export default definePlugin({
  name: "guard",
  setup(ctx) {
    let undos = [];
    ctx.route("POST", "/t/mode", { access: "gateway" }, async (call) => {
      for (const undo of undos.splice(0)) undo();
      ({ mode } = await call.json());
      heard.length = 0;
      if (mode === "sending" || mode === "block")
        undos.push(ctx.on("message:sending", (event) => {
          heard.push({ name: event.name, ...event.context });
          if (mode === "block") return { block: "not this" };
          event.context.content = event.context.content.replaceAll("SECRET", "[gone]");
        }));
      if (mode === "sent" || mode === "sending") undos.push(ctx.on("message:sent", (event) => void heard.push({ name: event.name, ...event.context })));
      if (mode === "same") undos.push(ctx.on("message:streaming", () => {}));
      if (mode === "streaming")
        undos.push(ctx.on("message:streaming", (event) => {
          const { streamId, text, final } = event.context;
          heard.push({ ...event.context });
          let all = (kept.get(streamId) ?? "") + text;
          all = all.replaceAll("SECRET", "[gone]");
          const keep = final ? 0 : [5, 4, 3, 2, 1].find((n) => all.endsWith("SECRET".slice(0, n))) ?? 0;
          kept.set(streamId, all.slice(all.length - keep));
          event.context.text = all.slice(0, all.length - keep);
          if (final) kept.delete(streamId);
        }));
      const received = (handle) => undos.push(ctx.on("message:received", handle));
      if (mode === "answer") received(() => ({ reply: "from a hook" }));
      if (mode === "forbid") received(() => ({ block: "off topic" }));
      if (mode === "rewrite") received((event) => { event.context.content = "rewritten"; });
      if (mode === "reply") undos.push(ctx.on("chat:request", () => ({ reply: "from a hook" })));
      if (mode === "refuse") undos.push(ctx.on("chat:request", () => ({ block: "off topic" })));
      return {};
    });
    ctx.route("GET", "/t/heard", { access: "gateway" }, () => heard);
  },
});
`;

test.before(async () => {
  up = await startUpstream((request, res) =>
    request.body.stream ? stream(res, ...hello) : json(res, completion("Hello")),
  );
  gateway = await startGateway({
    config: {
      channels: { main: { provider: "openai", baseUrl: up.url, maxRetries: 0, models: ["m"] } },
      agents: { defaults: { model: "m", heartbeat: { every: "0" } } },
    },
    files: { "plugins/guard/plugin.ts": guard },
  });
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});

const mode = (name: string) => gateway.json("POST", "/t/mode", { mode: name });
const user = [{ role: "user", content: "hi" }];
const doors: Record<string, (streaming: boolean) => Promise<Response>> = {
  chat: (stream) =>
    gateway.request("POST", "/v1/chat/completions", { model: "m", messages: user, stream }),
  messages: (stream) =>
    gateway.request("POST", "/v1/messages", { model: "m", max_tokens: 9, messages: user, stream }),
  responses: (stream) =>
    gateway.request("POST", "/v1/responses", { model: "m", input: "hi", stream }),
  agent: (stream) => asAgent("/v1/chat/completions", { messages: user, stream }),
  "agent by messages": (stream) =>
    asAgent("/v1/messages", { max_tokens: 9, messages: user, stream }),
  "agent by responses": (stream) => asAgent("/v1/responses", { input: "hi", stream }),
  turn: (stream) =>
    gateway.request("POST", "/agent", { message: "hi", session: "kept", stream, wait: !stream }),
};
const asAgent = (path: string, body: object) =>
  gateway.request(
    "POST",
    path,
    { ...body, model: "agent" },
    { headers: { "x-portico-session": "kept" } },
  );
/** What a turn of the agent leaves behind, with the turns before it. */
const transcript = async () => JSON.stringify(await gateway.json("GET", "/sessions/kept"));

for (const [name, ask] of Object.entries(doors)) {
  for (const streaming of [false, true]) {
    test(`message:sending changes and refuses: ${name}, ${streaming ? "stream" : "whole"}`, async () => {
      secret(["the SEC", "RET is", " out"]);
      await mode("sending");
      const response = await ask(streaming);
      const text = removeRequestIds(await response.text());
      assert.is(response.status, 200, text);
      assert.ok(text.includes("[gone]") && !text.includes("SEC"), text);
      const events = await until("what was sent", async () => {
        const all = await gateway.json<{ name: string; content: string }[]>("GET", "/t/heard");
        return all.some((event) => event.name === "message:sent") ? all : undefined;
      });
      assert.is(events.filter((event) => event.name === "message:sending").length, 1);
      assert.is(events.at(-1)!.content, "the [gone] is out");

      await mode("block");
      const refused = await ask(streaming);
      const errorText = removeRequestIds(await refused.text());
      assert.is(refused.status, streaming ? 200 : 403, errorText);
      assert.ok(
        errorText.includes("not this") &&
          errorText.includes("blocked_by_hook") !== /messages/.test(name),
        errorText,
      );
      assert.not.ok(/SEC|RET/.test(errorText), errorText);
    });
  }
  test(`message:streaming holds text back over chunks: ${name}`, async () => {
    for (const size of [1, 2, 4, 7, 40]) {
      secret("a SECRET, SE and SECRETSECRET SEC".match(new RegExp(`.{1,${size}}`, "g"))!);
      await mode("streaming");
      const text = await (await ask(true)).text();
      const receivedText = Array.from(
        text.matchAll(/"(?:content|text|delta)":"((?:[^"\\]|\\.)*)"/g),
        ([, part]) => part,
      ).join("");
      assert.ok(
        receivedText.includes("a [gone], SE and [gone][gone] SEC"),
        `${size}: ${receivedText}`,
      );
      assert.not.ok(receivedText.includes("SECRET"), receivedText);
      const pieces = await gateway.json<{ streamId: string; final: boolean; text: string }[]>(
        "GET",
        "/t/heard",
      );
      assert.is(new Set(pieces.map((piece) => piece.streamId)).size, 1);
      assert.equal(pieces.map((piece) => piece.final).indexOf(true), pieces.length - 1);
      assert.is(pieces.map((piece) => piece.text).join(""), "a SECRET, SE and SECRETSECRET SEC");
    }
    if (/agent|turn/.test(name)) {
      const stored = await transcript();
      assert.ok(
        stored.includes("a [gone], SE and [gone][gone] SEC") && !stored.includes("SECRET"),
        stored,
      );
    }
  });
}

function secret(pieces: readonly string[]): void {
  up.answer = (request, res) =>
    request.body.stream
      ? stream(
          res,
          chunk({ role: "assistant", content: "" }),
          ...pieces.map((content) => chunk({ content })),
          chunk({}, "stop"),
          DONE,
        )
      : json(res, completion(pieces.join("")));
}

test("a handler that changes nothing leaves a stream unchanged, byte for byte", async () => {
  secret(['é\n"q"', "b", "c", "d"]);
  await mode("");
  const plain = await (await doors["chat"]!(true)).text();
  await mode("same");
  assert.is(await (await doors["chat"]!(true)).text(), plain);
  await mode("sending");
  assert.is(await (await doors["chat"]!(true)).text(), plain);
});

test("the events of one read form one piece, and an empty text forms none", async () => {
  const pieces = ["", "a ", "stream ", "", "of ", "words"];
  up.answer = (_, res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    const texts = pieces.map((content) => chunk({ content }));
    res.end([...texts, chunk({}, "stop"), DONE].join(""));
  };
  for (const [name, ask] of Object.entries(doors)) {
    await mode("streaming");
    await (await ask(true)).text();
    const receivedPieces = await gateway.json<{ final: boolean; text: string }[]>(
      "GET",
      "/t/heard",
    );
    const [first, ...others] = receivedPieces.map(({ text, final }) => [text, final]);
    // a turn knows only behind its text that no more comes
    const isTurn = /agent|turn/.test(name);
    assert.equal(first, ["a stream of words", !isTurn], name);
    assert.equal(others, isTurn ? [["", true]] : [], name);
  }
});

test("a first chunk with role and text forms one piece with the chunks after it", async () => {
  up.answer = (_, res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    const texts = ["the SEC", "RET is", " out"].map((content) => chunk({ content }));
    res.end([...texts, chunk({ content: " SECRET" }, "stop"), DONE].join(""));
  };
  await mode("streaming");
  const text = await (await doors["chat"]!(true)).text();
  assert.is(contentOf(text), "the [gone] is out [gone]");
  assert.is(text.match(/"role":"assistant"/g)?.length, 1, text);
  const pieces = await gateway.json<{ final: boolean; text: string }[]>("GET", "/t/heard");
  assert.equal(
    pieces.map((piece) => [piece.text, piece.final]),
    [["the SECRET is out SECRET", true]],
  );
});

test("an event with more text than a piece may collect is handled like any other", async () => {
  const long = "SECRET é ".repeat(10_000);
  secret(["a ", long, long, "end"]);
  await mode("streaming");
  assert.is(
    contentOf(await (await doors["chat"]!(true)).text()),
    `a ${long}${long}end`.replaceAll("SECRET", "[gone]"),
  );
});

test("an observer such as the event feed does not hold a stream", async () => {
  await mode("");
  const feed = await gateway.request("GET", "/events");
  let finish = () => {};
  up.answer = (_, res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.write(chunk({ role: "assistant", content: "first" }));
    finish = () => res.end(chunk({}, "stop") + DONE);
  };
  const reader = (await doors["chat"]!(true))
    .body!.pipeThrough(new TextDecoderStream())
    .getReader();
  const late = setTimeout(() => finish(), 30_000);
  let text = "";
  while (!text.includes("first")) text += (await reader.read()).value!;
  clearTimeout(late);
  assert.not(text.includes("[DONE]"), text);
  finish();
  while (!(await reader.read()).done);
  await feed.body!.cancel();
});

test("a handler can change, reply to and refuse message:received", async () => {
  for (const [name, ask] of Object.entries(doors)) {
    for (const streaming of [false, true]) {
      const what = `${name}, ${streaming ? "stream" : "whole"}`;
      secret(["fine"]);
      up.seen.length = 0;
      await mode("rewrite");
      assert.match(await (await ask(streaming)).text(), /fine/, what);
      assert.match(JSON.stringify(up.seen[0]!.body.messages.at(-1)), /rewritten/, what);
      up.seen.length = 0;
      await mode("answer");
      assert.match(await (await ask(streaming)).text(), /from a hook|from.*a.*hook/s, what);
      await mode("forbid");
      const refused = await ask(streaming);
      assert.is(refused.status, 403, what);
      assert.match(await refused.text(), /off topic/, what);
      assert.is(up.seen.length, 0, what);
    }
  }
  await mode("");
});

test("a handler can reply to and refuse chat:request", async () => {
  up.seen.length = 0;
  for (const [name, ask] of Object.entries(doors)) {
    for (const streaming of [false, true]) {
      await mode("reply");
      assert.ok(
        (await (await ask(streaming)).text()).match(/from a hook|from.*a.*hook/s),
        `${name} ${streaming}`,
      );
      await mode("refuse");
      const refused = await ask(streaming);
      assert.is(refused.status, name === "turn" && streaming ? 200 : 403, name);
      assert.match(await refused.text(), /off topic/);
    }
  }
  assert.is(up.seen.length, 0);
  await mode("");
});

test("the error of an upstream that breaks off also passes a handler", async () => {
  up.answer = (_, res) =>
    stream(
      res,
      chunk({ role: "assistant", content: "x" }),
      'data: {"error":{"message":"broke"}}\n\n',
    );
  for (const name of ["same", "sending"]) {
    await mode(name);
    const text = await (await doors["chat"]!(true)).text();
    assert.match(text, /broke/);
    if (name === "same") assert.is(contentOf(text), "x");
  }
  await mode("");
});

test("a stream whose text was changed keeps the other members", async () => {
  const extra_content = { google: { thought_signature: "c2ln" } };
  const picture = (name: string) => ({
    type: "image_url",
    image_url: { url: `data:image/png;base64,${name}` },
  });
  const fn = { name: "f", arguments: "{" };
  up.answer = (_, res) =>
    stream(
      res,
      chunk({ role: "assistant", content: "a SECRET" }),
      chunk({ images: [picture("AAAA")] }),
      chunk({ images: [picture("BBBB")] }),
      chunk({
        tool_calls: [{ index: 0, id: "call_1", type: "function", function: fn, extra_content }],
      }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: "}" } }] }),
      chunk({}, "tool_calls"),
      DONE,
    );
  await mode("sending");
  const text = await (await doors["chat"]!(true)).text();
  // The pieces stay apart, as the upstream sent them.
  const deltas = eventsOf(text).flatMap((event) => event.choices?.[0]?.delta ?? []);
  const withMember = (name: string) => deltas.filter((delta) => delta[name] != null);
  assert.is(contentOf(text), "a [gone]");
  assert.equal(
    deltas.flatMap((delta) => delta.images ?? []),
    [picture("AAAA"), picture("BBBB")],
  );
  assert.equal(
    withMember("tool_calls").flatMap((delta) => delta.tool_calls),
    [
      { index: 0, id: "call_1", type: "function", function: fn, extra_content },
      { index: 0, function: { arguments: "}" } },
    ],
  );
  await mode("");
});

test.run();
