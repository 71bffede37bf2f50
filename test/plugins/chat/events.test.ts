import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { hookFiles } from "../../support/hook-files.ts";
import { until } from "../../support/until.ts";
import {
  chunk,
  completion,
  contentOf,
  eventsOf,
  hello,
  json,
  startUpstream,
  stream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";

const test = suite("chat events");
let up: Upstream;
let gateway: InProcessGateway;

/** A plugin that reports the events that it receives and calls the chat service on demand. */
const asker = `
import { definePlugin } from "portico";
const heard = [];
let stop;
export default definePlugin({
  name: "asker",
  setup(ctx) {
    for (const name of ["chat:response", "message:sent"]) ctx.on(name, (event) => void heard.push({ name, ...event.context }));
    ctx.route("GET", "/t/heard", { access: "gateway" }, () => heard.splice(0));
    ctx.route("POST", "/t/complete", { access: "gateway" }, async (call) => {
      const { events, ...request } = await call.json();
      return ctx.use("chat").complete(request, { events });
    });
    ctx.route("POST", "/t/stream", { access: "gateway" }, async (call) => {
      const { take, ...request } = await call.json();
      const chunks = [];
      for await (const chunk of ctx.use("chat").stream(request)) {
        chunks.push(chunk);
        if (chunks.length === take) break;
      }
      return { chunks };
    });
    ctx.route("POST", "/t/abort", { access: "gateway" }, async (call) => {
      stop = new AbortController();
      try {
        await ctx.use("chat").complete(await call.json(), { signal: stop.signal });
        return { error: null };
      } catch (error) {
        return { error: error.message };
      }
    });
    ctx.route("POST", "/t/stop", { access: "gateway" }, () => {
      stop.abort(new Error("enough"));
      return {};
    });
    ctx.route("GET", "/t/models", { access: "gateway" }, () => ctx.use("chat").models());
  },
});
`;

test.before(async () => {
  up = await startUpstream((request, res) =>
    request.body.stream ? stream(res, ...hello) : json(res, completion("Hello")),
  );
  gateway = await startGateway({
    config: { channels: { main: { provider: "openai", baseUrl: up.url, maxRetries: 0 } } },
    files: {
      "plugins/asker/plugin.ts": asker,
      ...hookFiles(
        "talker",
        `const text = event.context.content;
         if (text.includes("BLOCK")) return { block: "not today" };
         if (text.includes("REPLY")) return { reply: "from the hook" };
         if (text.includes("PUSH")) event.messages.push("First.", "Second.");
         if (text.includes("CHANGE")) event.context.content = text.replace("CHANGE", "changed by a hook");
         if (text.includes("THROW")) throw new Error("boom");`,
      ),
      ...hookFiles(
        "router",
        `if (event.context.request.model === "main/route-me") event.context.request = { ...event.context.request, model: "main/routed", added: 1 };
         if (event.context.request.model === "main/spoil") event.context.request = { model: "main/x", messages: "no" };`,
        { events: "chat:request" },
      ),
    },
  });
  await until("the hooks", async () => (await ask("REPLY")).status === 200 && up.seen.length === 0);
});
test.before.each(async () => {
  up.seen.length = 0;
  await gateway.json("GET", "/t/heard");
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});

const ask = (content: unknown, body: object = {}) =>
  gateway.request("POST", "/v1/chat/completions", {
    model: "main/m",
    messages: [
      { role: "system", content: "s" },
      { role: "user", content },
      ...((body as { after?: object[] }).after ?? []),
    ],
    ...body,
    after: undefined,
  });
const untilEvents = async (count: number) => {
  const all: Record<string, unknown>[] = [];
  await until(`${count} events`, async () => {
    all.push(...(await gateway.json("GET", "/t/heard")));
    return all.length >= count;
  });
  return all;
};

test("a changed content replaces the text of the last user message, images stay", async () => {
  await ask("please CHANGE this");
  assert.equal(up.seen[0]?.body.messages, [
    { role: "system", content: "s" },
    { role: "user", content: "please changed by a hook this" },
  ]);
  const image = { type: "image_url", image_url: { url: "data:image/png;base64,AA" } };
  await ask([{ type: "text", text: "a CHANGE" }, image, { type: "text", text: "b" }]);
  assert.equal(up.seen[1]?.body.messages[1].content, [
    { type: "text", text: "a changed by a hook\nb" },
    image,
  ]);
});

test("a reply is sent at once, whole or streamed, without the upstream", async () => {
  const whole = await ask("REPLY");
  const body = (await whole.json()) as ReturnType<typeof JSON.parse>;
  assert.match(body.id, /^chatcmpl-/);
  assert.equal(
    [body.object, body.choices[0].message, body.choices[0].finish_reason],
    ["chat.completion", { role: "assistant", content: "from the hook" }, "stop"],
  );
  const streamed = await (await ask("REPLY", { stream: true })).text();
  assert.is(contentOf(streamed), "from the hook");
  assert.is(eventsOf(streamed).at(-1), "[DONE]");
  assert.is(up.seen.length, 0);
  const sent = (await untilEvents(2)).filter((event) => event["name"] === "message:sent");
  assert.equal(
    sent.map((event) => event["content"]),
    ["from the hook", "from the hook"],
  );
});

test("a block is 403 with its reason", async () => {
  const response = await ask("BLOCK");
  assert.is(response.status, 403);
  assert.equal(((await response.json()) as { error: object }).error, {
    message: "not today",
    type: "invalid_request_error",
    param: null,
    code: "blocked_by_hook",
  });
  assert.is(up.seen.length, 0);
});

test("pushed messages precede the response", async () => {
  const body = (await (await ask("PUSH")).json()) as ReturnType<typeof JSON.parse>;
  assert.is(body.choices[0].message.content, "First.\n\nSecond.\n\nHello");
  const text = await (await ask("PUSH", { stream: true })).text();
  assert.is(contentOf(text), "First.\n\nSecond.\n\nHello");
  const roles = eventsOf(text).filter((event) => event.choices?.[0].delta.role);
  assert.is(roles.length, 1);
  assert.is(eventsOf(text)[0].choices[0].delta.role, "assistant");
  const strict = (await (
    await ask("PUSH", { response_format: { type: "json_object" } })
  ).json()) as ReturnType<typeof JSON.parse>;
  assert.is(strict.choices[0].message.content, "Hello");
});

test("a hook that throws does not affect the response", async () => {
  assert.is((await ask("THROW")).status, 200);
});

test("chat:request can change the whole request, and an invalid result is refused like an invalid request", async () => {
  await ask("x", { model: "main/route-me" });
  assert.equal([up.seen[0]?.body.model, up.seen[0]?.body.added], ["routed", 1]);
  const spoilt = await ask("x", { model: "main/spoil" });
  assert.is(spoilt.status, 400);
});

test("a chat:request hook that only observes leaves the request's bytes unchanged", async () => {
  const raw =
    '{ "model" : "main/m",\n "messages":[{"role":"user","content":"\\u0068i"}], "x": 1.0 }';
  await (await gateway.request("POST", "/v1/chat/completions", raw)).text();
  assert.is(up.seen[0]?.raw, raw.replace("main/m", "m"));
});

test("chat:response and message:sent report responses, streams, failures and clients that leave", async () => {
  await (await ask("x")).text();
  const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
  up.answer = (_, res) =>
    stream(res, ...hello.slice(0, 4), chunk({}, null, { choices: [], usage }), hello[4]!);
  await (await ask("x", { stream: true })).text();
  up.answer = (_, res) => json(res, { error: { message: "bad" } }, 500);
  await (await ask("x")).text();
  const all = await untilEvents(5);
  const [whole, streamed, failed] = all.filter((event) => event["name"] === "chat:response");
  assert.equal(
    [
      whole?.["status"],
      whole?.["content"],
      whole?.["finishReason"],
      whole?.["channel"],
      whole?.["model"],
      whole?.["attempts"],
    ],
    [200, "Hello", "stop", "main", "m", 1],
  );
  assert.equal((whole?.["usage"] as { total_tokens: number } | undefined)?.total_tokens, 5);
  assert.equal(
    [streamed?.["content"], streamed?.["finishReason"], streamed?.["usage"]],
    ["Hello", "stop", usage],
  );
  assert.equal([failed?.["status"], failed?.["error"]], [502, "bad"]);
  assert.equal(
    all.filter((event) => event["name"] === "message:sent").map((event) => event["content"]),
    ["Hello", "Hello"],
  );
  const leave = new AbortController();
  up.answer = (_, res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.write(hello[0]! + hello[1]!);
  };
  const response = await gateway.request(
    "POST",
    "/v1/chat/completions",
    { model: "main/m", messages: [{ role: "user", content: "x" }], stream: true },
    { signal: leave.signal },
  );
  await response.body!.getReader().read();
  leave.abort();
  const [event] = await untilEvents(1);
  assert.equal(
    [event?.["name"], event?.["status"], event?.["content"]],
    ["chat:response", 499, "Hel"],
  );
  up.answer = (request, res) =>
    request.body.stream ? stream(res, ...hello) : json(res, completion("Hello"));
});

test("the chat service completes, streams, stops early and lists", async () => {
  const request = { model: "main/m", messages: [{ role: "user", content: "hi" }] };
  assert.is(
    (await gateway.json("POST", "/t/complete", request)).choices[0].message.content,
    "Hello",
  );
  const { chunks } = await gateway.json("POST", "/t/stream", request);
  assert.is(
    chunks
      .map(
        (piece: { choices: { delta: { content?: string } }[] }) =>
          piece.choices[0]?.delta.content ?? "",
      )
      .join(""),
    "Hello",
  );
  assert.is((await gateway.json("POST", "/t/stream", { ...request, take: 2 })).chunks.length, 2);
  assert.is(
    (await gateway.request("POST", "/t/complete", { model: "nope", messages: request.messages }))
      .status,
    404,
  );
  assert.ok(
    (await gateway.json("GET", "/t/models")).some((model: { id: string }) => model.id === "echo"),
  );
  let cut: Promise<void> | undefined;
  up.answer = (upstreamRequest) => {
    cut = upstreamRequest.cut;
    void gateway.request("POST", "/t/stop", {});
  };
  assert.equal(await gateway.json("POST", "/t/abort", request), { error: "enough" });
  await cut;
  up.answer = (upstreamRequest, res) =>
    upstreamRequest.body.stream ? stream(res, ...hello) : json(res, completion("Hello"));
});

test("the chat service takes a response of any size, with and without a listener that reads it", async () => {
  const content = "z".repeat(3 * 1024 * 1024);
  up.answer = (_, res) => json(res, completion(content));
  for (const events of [true, false]) {
    const request = { model: "main/m", messages: [{ role: "user", content: "hi" }], events };
    assert.is(
      (await gateway.json("POST", "/t/complete", request)).choices[0].message.content.length,
      content.length,
    );
  }
  const tested = await gateway.json("POST", "/channels/main/test", { model: "m" });
  assert.is(tested.error, undefined);
  const { channels } = await gateway.json("GET", "/channels");
  assert.is(channels.find(({ name }: { name: string }) => name === "main").inFlight, 0);
  up.answer = (request, res) =>
    request.body.stream ? stream(res, ...hello) : json(res, completion("Hello"));
});

test.run();
