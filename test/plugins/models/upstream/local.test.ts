/** Providers of this process that are late, break, or know less than an upstream would. */
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../../support/gateway.ts";
import { until } from "../../../support/until.ts";
import { contentOf, eventsOf } from "../../../support/upstreams/upstream.ts";

const test = suite("providers in this process");
let gateway: InProcessGateway;
const odd = `
import { definePlugin } from "portico";
const forever = new Promise(() => {});
let told = [];
export default definePlugin({
  name: "odd",
  setup(ctx) {
    const begin = ({ model }, { signal }) => {
      told.push("began " + model);
      signal.addEventListener("abort", () => told.push("stopped " + model));
    };
    const complete = async (request, target) => {
      begin(request, target);
      if (request.model === "hangs") return forever;
      if (request.model === "throws") throw new Error("boom");
      return "one two";
    };
    async function* stream(request, target) {
      begin(request, target);
      if (request.model === "hangs") await forever;
      if (request.model === "throws") throw new Error("boom");
      const head = { id: "c", object: "chat.completion.chunk", created: 1, model: request.model };
      if (request.model === "thinks") yield { ...head, choices: [{ index: 0, delta: { reasoning_content: "hm" }, finish_reason: null }] };
      yield "one ";
      if (request.model === "stalls") await forever;
      if (request.model === "breaks") throw new Error("boom");
      yield "two";
    }
    const values = { nothing: undefined, null: null, number: 42, list: [], object: {}, none: { choices: [] }, word: { choices: "x" }, mute: { choices: [{}] }, hollow: { choices: [null] } };
    const given = async ({ model }) => values[model];
    ctx.add("provider", { name: "strange", complete: given });
    ctx.add("provider", { name: "plain", complete: () => "one two" });
    ctx.add("provider", { name: "strangestreams", async *stream(request) { yield await given(request); } });
    ctx.add("provider", { name: "whole", complete });
    ctx.add("provider", { name: "odd", complete, stream });
    ctx.add("provider", { name: "streams", stream });
    ctx.add("provider", { name: "unlisted", complete, models: () => forever });
    ctx.add("provider", { name: "listless", wire: { encode() {}, decode() {}, decoder() {}, error() {} } });
    ctx.add("provider", { name: "patient", composite: true, complete, stream });
    ctx.add("meter", { name: "odd", finished: ({ status, usage, stream }) => told.push("metered " + [status, stream, usage?.estimated ? "estimated" : "told"].join(" ")) });
    ctx.route("GET", "/t/told", { access: "gateway" }, () => told);
    ctx.route("POST", "/t/forget", { access: "gateway" }, () => { told = []; return {}; });
    ctx.route("POST", "/t/leave", { access: "gateway" }, async (call) => {
      const { streamed, ...request } = await call.json();
      const stop = new AbortController();
      const chat = ctx.use("chat");
      const options = { signal: stop.signal };
      const began = told.length;
      const asked = streamed ? chat.stream(request, options).next() : chat.complete(request, options);
      asked.catch(() => {});
      while (told.length === began) await new Promise(setImmediate);
      stop.abort(new Error("enough"));
      return asked.then(() => ({ error: null }), (error) => ({ error: error.message }));
    });
  },
});
`;

test.before(async () => {
  const channel = (provider: string, more: object = {}) => ({ provider, models: ["*"], ...more });
  gateway = await startGateway({
    config: {
      channels: {
        odd: channel("odd"),
        whole: channel("whole"),
        streams: channel("streams"),
        failing: channel("odd", { maxRetries: 0 }),
        broken: channel("odd"),
        quick: channel("odd", { timeoutMs: 40, idleTimeoutMs: 40, maxRetries: 0 }),
        quickstreams: channel("streams", { timeoutMs: 40, idleTimeoutMs: 40, maxRetries: 0 }),
        unlisted: { provider: "unlisted" },
        listless: { provider: "listless", baseUrl: "http://127.0.0.1:9" },
        plain: channel("plain", { maxRetries: 0 }),
        strange: channel("strange", { maxRetries: 0 }),
        strangestreams: channel("strangestreams", { maxRetries: 0 }),
      },
    },
    files: { "plugins/odd/plugin.ts": odd },
  });
});
test.before.each(async () => {
  await gateway.request("POST", "/t/forget", {});
});
test.after(async () => {
  await gateway?.stop();
});

const request = (model: string, more: object = {}) => ({
  model,
  messages: [{ role: "user", content: "hi" }],
  ...more,
});
const ask = (model: string, more: object = {}, signal?: AbortSignal) =>
  gateway.request(
    "POST",
    "/v1/chat/completions",
    request(model, more),
    signal === undefined ? {} : { signal },
  );
const untilReported = (what: string) =>
  until(what, async () => ((await gateway.json("GET", "/t/told")) as string[]).includes(what));
const stateOf = async (name: string) =>
  (await gateway.json("GET", "/channels")).channels.find(
    (channel: { name: string }) => channel.name === name,
  );
/** Sends a request, disconnects while the gateway handles it, and waits until the response has broken off. */
async function leaveWhen(what: string, path: string, body: object): Promise<void> {
  const leave = new AbortController();
  const response = gateway.request("POST", path, body, { signal: leave.signal });
  await untilReported(what);
  leave.abort();
  await response.then(
    () => assert.unreachable(what),
    () => {},
  );
}

test("a channel whose provider lists no models accepts any name, and its test explains where to configure one", async () => {
  const { ms, ...whole } = await gateway.json("POST", "/channels/whole/test");
  assert.equal(whole, { ok: true, model: "whole", answer: "one two" });
  const listless = await gateway.json("POST", "/channels/listless/test");
  assert.is(listless.ok, false);
  assert.match(listless.error, /`listless` .*channels\.listless\.models/);
});

test("a client can disconnect before the first chunk although the provider ignores the signal", async () => {
  const body = { ...request("odd/hangs", { stream: true }), max_tokens: 5 };
  for (const path of ["/v1/chat/completions", "/v1/messages"]) {
    await gateway.request("POST", "/t/forget", {});
    await leaveWhen("began hangs", path, body);
    await untilReported("metered 499 true estimated");
    await untilReported("stopped hangs");
  }
  await leaveWhen("began hangs", "/v1/chat/completions", request("streams/hangs"));
  await untilReported("metered 499 false estimated");
  for (const name of ["odd", "streams"]) assert.is((await stateOf(name)).inFlight, 0);
});

test("an internal caller can abort before the first chunk", async () => {
  for (const model of ["odd/hangs", "streams/hangs"]) {
    for (const streamed of [true, false]) {
      await gateway.request("POST", "/t/forget", {});
      const response = gateway.json("POST", "/t/leave", request(model, { streamed }));
      await untilReported(`metered 499 ${streamed} estimated`);
      assert.equal(await response, { error: "enough" }, model);
    }
  }
});

test("a provider that throws counts as a failing channel, and goes into cooldown after three failures", async () => {
  for (const stream of [false, true, false]) {
    const response = await ask("broken/throws", { stream });
    assert.equal([response.status, response.headers.get("x-portico-attempts")], [502, "1"]);
    assert.match(
      ((await response.json()) as { error: { message: string } }).error.message,
      "`odd` failed",
    );
  }
  const { state, failures, errors, lastError } = await stateOf("broken");
  assert.equal([state, failures, errors], ["resting", 3, 3]);
  assert.match(lastError, "`odd` failed");
});

test("a stream that throws midway ends with the error, and the channel reports it", async () => {
  const events = eventsOf(await (await ask("failing/breaks", { stream: true })).text());
  assert.is(events.at(-2).error.code, "upstream_error");
  assert.match((await stateOf("failing")).lastError, "`odd` failed");
});

test("timeoutMs and idleTimeoutMs apply to a local provider, and its signal is aborted", async () => {
  for (const [model, stream] of [
    ["quick/hangs", false],
    ["quick/hangs", true],
    ["quickstreams/hangs", false],
  ] as const) {
    await gateway.request("POST", "/t/forget", {});
    const response = await ask(model, { stream });
    assert.is(response.status, 504, `${model} ${stream}`);
    assert.is(
      ((await response.json()) as { error: { code: string } }).error.code,
      "upstream_timeout",
    );
    await untilReported("stopped hangs");
  }
  const events = eventsOf(await (await ask("quick/stalls", { stream: true })).text());
  assert.equal([events.at(-2).error.code, events.at(-1)], ["upstream_timeout", "[DONE]"]);
  assert.is((await ask("quickstreams/stalls")).status, 504);
});

test("a provider that only streams also gives whole responses, with its reasoning", async () => {
  const body = (await (await ask("streams/thinks")).json()) as ReturnType<typeof JSON.parse>;
  assert.equal(body.choices, [
    {
      index: 0,
      message: { role: "assistant", content: "one two", reasoning_content: "hm" },
      finish_reason: "stop",
      logprobs: null,
    },
  ]);
  assert.is(contentOf(await (await ask("whole/x", { stream: true })).text()), "one two");
});

test("a provider may return a plain value instead of a promise", async () => {
  for (const stream of [false, true]) {
    const response = await ask("plain/x", { stream });
    assert.is(response.status, 200);
    assert.match(await response.text(), "two");
  }
});

test("an invalid response of a provider is a failure", async () => {
  const names = ["nothing", "null", "number", "list", "object", "none", "word", "mute", "hollow"];
  for (const stream of [false, true])
    for (const name of names) {
      const response = await ask(`strange/${name}`, { stream });
      assert.is(response.status, 502, name);
      assert.match(
        ((await response.json()) as { error: { message: string } }).error.message,
        /^The provider `strange` failed: it returned neither a string nor a chat completion\.$/,
      );
    }
  // An empty list is a read that brought no parts.
  for (const name of ["nothing", "null", "number"]) {
    const response = await ask(`strangestreams/${name}`, { stream: true });
    assert.is(response.status, 502, name);
    assert.match(
      await response.text(),
      /`strangestreams` failed: it returned something other than a string, a chunk or a list of parts\./,
    );
  }
});

test("the usage of a response without usage is estimated, although clients receive zeros", async () => {
  for (const model of ["whole/x", "streams/x"]) {
    await gateway.request("POST", "/t/forget", {});
    const body = (await (await ask(model)).json()) as ReturnType<typeof JSON.parse>;
    assert.equal(body.usage, { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 });
    await untilReported("metered 200 false estimated");
  }
});

test("a provider that never finishes the list of its models does not block requests", async () => {
  const { data } = await gateway.json("GET", "/v1/models");
  assert.ok(data.some(({ id }: { id: string }) => id === "echo"));
});

test.run();
