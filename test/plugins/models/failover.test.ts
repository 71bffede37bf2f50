import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { porticoHere } from "../../support/portico.ts";
import { until } from "../../support/until.ts";
import {
  completion,
  hello,
  json,
  startUpstream,
  stream,
  type Answerer,
  type Upstream,
} from "../../support/upstreams/upstream.ts";

const test = suite("failover");
let first: Upstream;
let second: Upstream;
let gateway: InProcessGateway | undefined;
const messages = [{ role: "user", content: "hi" }];
const ok: Answerer = (request, res) =>
  request.body.stream ? stream(res, ...hello) : json(res, completion("ok"));
const broken: Answerer = (_, res) => json(res, { error: { message: "broken" } }, 500);

test.before(async () => {
  first = await startUpstream(ok);
  second = await startUpstream(ok);
});
test.before.each(() => {
  for (const up of [first, second]) up.seen.length = 0;
  first.answer = ok;
  second.answer = ok;
});
test.after.each(async () => {
  await gateway?.stop();
  gateway = undefined;
});
test.after(async () => {
  await first.close();
  await second.close();
});

/** Two channels that list the model `m`; the first has priority. */
async function start(
  firstSettings: object = {},
  secondSettings: object = {},
  more: object = {},
): Promise<void> {
  const base = { provider: "openai", models: ["m"], maxRetries: 0 };
  gateway = await startGateway({
    config: {
      channels: {
        one: { ...base, baseUrl: first.url, priority: 1, apiKey: "k1", ...firstSettings },
        two: { ...base, baseUrl: second.url, apiKey: "k2", ...secondSettings },
      },
      ...more,
    },
  });
}
const ask = (body: object = {}) =>
  gateway!.request("POST", "/v1/chat/completions", { model: "m", messages, ...body });
const summarize = (response: Response) => [
  response.status,
  response.headers.get("x-portico-channel"),
  response.headers.get("x-portico-attempts"),
];
const stateOf = async (name: string) =>
  (await gateway!.json("GET", "/channels")).channels.find(
    (channel: { name: string }) => channel.name === name,
  );

test("every failure before the first byte causes a fallback, streaming or not", async () => {
  await start();
  const failures: Record<string, Answerer> = {
    500: broken,
    404: (_, res) => json(res, { error: { message: "no such model" } }, 404),
    429: (_, res) => json(res, { error: { message: "slow down" } }, 429),
    overloaded: (_, res) => json(res, {}, 529),
    reset: (_, res) => res.destroy(),
    "error body": (_, res) => json(res, { error: { message: "inside" } }),
    html: (_, res) => res.writeHead(200, { "content-type": "text/html" }).end("<html>"),
    "cut before an event": (_, res) => {
      res.writeHead(200, { "content-type": "text/event-stream" });
      res.write("data: {", () => setTimeout(() => res.destroy(), 10));
    },
    "first event an error": (request, res) =>
      request.body.stream
        ? stream(res, 'data: {"error":{"message":"x"}}\n\n')
        : broken(request, res, 0),
  };
  for (const [what, answerer] of Object.entries(failures)) {
    for (const streamed of [false, true]) {
      first.answer = ok;
      await (await ask()).text();
      first.answer = answerer;
      const response = await ask({ stream: streamed });
      assert.equal(summarize(response), [200, "two", "2"], `${what} ${streamed}`);
      if (streamed) assert.is(await response.text(), hello.join(""), what);
      else await response.text();
    }
  }
});

const silences: Record<string, Answerer> = {
  silent: () => {},
  "head only": (_, res) => res.writeHead(200).flushHeaders(),
};
for (const [what, answerer] of Object.entries(silences)) {
  test(`a late first byte causes a fallback: ${what}`, async () => {
    await start({ timeoutMs: 50 });
    first.answer = answerer;
    for (const streamed of [false, true]) {
      const response = await ask({ stream: streamed });
      assert.equal(summarize(response), [200, "two", "2"], `${streamed}`);
      await response.text();
    }
  });
}

test("an error of the caller causes no fallback", async () => {
  await start();
  for (const status of [400, 409, 413, 422]) {
    first.answer = (_, res) => json(res, { error: { message: "yours" } }, status);
    const response = await ask();
    assert.equal(summarize(response), [status, "one", "1"]);
    assert.is(response.headers.get("x-should-retry"), "false");
    await response.text();
  }
  assert.is(second.seen.length, 0);
});

test("failed requests are retried on the same channel", async () => {
  await start({ maxRetries: 2 }, { enabled: false });
  first.answer = (request, res, count) =>
    count < 2 ? broken(request, res, count) : ok(request, res, count);
  assert.equal(summarize(await ask()), [200, "one", "2"]);
  first.answer = broken;
  first.seen.length = 0;
  const response = await ask();
  assert.equal(summarize(response), [502, "one", "3"]);
  assert.is(first.seen.length, 3);
});

test("x-should-retry is false only if a retry cannot help, regardless of the number of attempts", async () => {
  await start({ maxRetries: 1 }, { enabled: false });
  const cases: [number, string | null][] = [
    [400, "false"],
    [401, "false"],
    [402, "false"],
    [404, "false"],
    [413, "false"],
    [422, "false"],
    [429, null],
    [500, null],
    [503, null],
    [504, null],
    [529, null],
  ];
  for (const [status, header] of cases) {
    const headers = { "retry-after-ms": "1" };
    first.answer = (_, res) => json(res, { error: { message: "no" } }, status, headers);
    const response = await ask();
    assert.is(response.headers.get("x-should-retry"), header, String(status));
    await response.text();
  }
  first.answer = (_, res) => res.destroy();
  assert.is((await ask()).headers.get("x-should-retry"), null);
});

test("the gateway waits for a short Retry-After, and not for a long one", async () => {
  await start({ maxRetries: 1 });
  const limit =
    (after: string): Answerer =>
    (request, res, count) =>
      count === 1
        ? json(res, { error: { message: "slow" } }, 429, { "retry-after-ms": after })
        : ok(request, res, count);
  first.answer = limit("80");
  const began = performance.now();
  assert.equal(summarize(await ask()), [200, "one", "2"]);
  assert.ok(performance.now() - began >= 79);
  first.seen.length = 0;
  first.answer = limit("60000");
  assert.equal(summarize(await ask()), [200, "two", "2"]);
  assert.is((await stateOf("one")).state, "resting");
});

test("the gateway's 429 passes on the upstream's Retry-After", async () => {
  await start({}, { enabled: false });
  first.answer = (_, res) =>
    json(res, { error: { message: "slow", code: "rate_limit_exceeded" } }, 429, {
      "retry-after": "37",
    });
  const response = await ask();
  assert.equal([response.status, response.headers.get("retry-after")], [429, "37"]);
  assert.is(
    ((await response.json()) as { error: { type: string } }).error.type,
    "rate_limit_error",
  );
});

test("three failures put a channel into cooldown, in which it is skipped unless it is the only one", async () => {
  await start();
  first.answer = broken;
  for (let i = 0; i < 3; i++) assert.equal(summarize(await ask()), [200, "two", "2"]);
  assert.equal([(await stateOf("one")).state, (await stateOf("one")).failures], ["resting", 3]);
  assert.equal(summarize(await ask()), [200, "two", "1"]);
  assert.is(first.seen.length, 3);
  first.answer = ok;
  assert.equal(summarize(await ask({ model: "one/m" })), [200, "one", "1"]);
  assert.is((await stateOf("one")).state, "ok");
  assert.equal(summarize(await ask()), [200, "one", "1"]);
});

test("the status and the list of channels name the same problems, from the first failure to the first success", async () => {
  await start();
  const problems = async () => {
    const { notices } = await gateway!.json("GET", "/kernel/status");
    const { channels } = await gateway!.json("GET", "/channels");
    const affected = channels.filter(({ problem }: { problem?: string }) => problem !== undefined);
    assert.equal(
      notices.filter(({ from }: any) => from === "channels").map(({ text }: any) => text),
      affected.map(({ name, problem }: any) => `${name}: ${problem}`),
    );
    return affected.map(({ name, state }: any) => [name, state]);
  };
  assert.equal(await problems(), []);
  first.answer = broken;
  await ask();
  assert.equal(await problems(), [["one", "failing"]]);
  for (let i = 0; i < 2; i++) await ask();
  assert.equal(await problems(), [["one", "resting"]]);
  first.answer = ok;
  await ask({ model: "one/m" });
  assert.equal(await problems(), []);
});

test("keys are used in turn; a refused key goes into cooldown and the next is tried", async () => {
  await start({ apiKey: ["a", "bad", "c"] });
  first.answer = (request, res, count) =>
    request.headers.authorization === "Bearer bad"
      ? json(res, { error: { message: "no" } }, 401)
      : ok(request, res, count);
  for (let i = 0; i < 4; i++) assert.is((await ask()).headers.get("x-portico-channel"), "one");
  assert.equal(
    first.seen.map((request) => request.headers.authorization?.slice(7)),
    ["a", "bad", "c", "a", "c"],
  );
  assert.is((await stateOf("one")).restingKeys, 1);
});

test("401 and 403 cause a fallback and a cooldown of the key", async () => {
  await start();
  first.answer = (_, res) => json(res, { error: { message: "bad key" } }, 403);
  assert.equal(summarize(await ask()), [200, "two", "2"]);
  assert.equal(summarize(await ask()), [200, "two", "1"]);
  const alone = await ask({ model: "one/m" });
  assert.is(alone.status, 502);
  const { error } = (await alone.json()) as { error: { code: string; message: string } };
  assert.is(error.code, "upstream_auth");
  assert.not.match(error.message, "k1");
});

test("requests over maxConcurrent go to the next target, then receive 429", async () => {
  await start({ maxConcurrent: 1, queueTimeoutMs: 30 }, { maxConcurrent: 1, queueTimeoutMs: 30 });
  const held: (() => void)[] = [];
  first.answer = second.answer = (request, res, count) => held.push(() => ok(request, res, count));
  const running = [ask(), ask({ stream: true })];
  await until("both to be busy", () => held.length === 2);
  const refused = await ask();
  assert.is(refused.status, 429);
  assert.ok(Number(refused.headers.get("retry-after")) >= 1);
  for (const go of held) go();
  for (const response of running) assert.is((await (await response).text()).length > 0, true);
  for (const name of ["one", "two"]) assert.is((await stateOf(name)).inFlight, 0);
});

test("a queued request takes the next free slot", async () => {
  await start({ maxConcurrent: 1, queueTimeoutMs: 60_000 }, { enabled: false });
  let go = () => {};
  first.answer = (request, res, count) => (go = () => void ok(request, res, count));
  const running = ask();
  await until("the first one", () => first.seen.length === 1);
  const queued = ask();
  await until("the second one to wait", async () => (await stateOf("one")).queued === 1);
  first.answer = ok;
  go();
  for (const response of [running, queued])
    assert.equal(summarize(await response), [200, "one", "1"]);
  const { inFlight, queued: waiting } = await stateOf("one");
  assert.equal([inFlight, waiting], [0, 0]);
});

test("a streamed response holds its slot until it ends or its client disconnects", async () => {
  await start({ maxConcurrent: 1 }, { enabled: false });
  first.answer = (_, res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.write(hello[0]! + hello[1]!);
  };
  const leave = new AbortController();
  const response = await gateway!.request(
    "POST",
    "/v1/chat/completions",
    { model: "m", messages, stream: true },
    { signal: leave.signal },
  );
  await response.body!.getReader().read();
  assert.is((await stateOf("one")).inFlight, 1);
  leave.abort();
  await first.seen[0]!.cut;
  assert.is((await stateOf("one")).inFlight, 0);
});

test("weighted aliases distribute requests by the weights of the channels", async () => {
  await start(
    { weight: 0 },
    { weight: 1 },
    { models: { w: { targets: ["one/m", "two/m"], strategy: "weighted" } } },
  );
  for (let i = 0; i < 5; i++) assert.equal(summarize(await ask({ model: "w" })), [200, "two", "1"]);
});

test("a fallback alias returns the error of the last target, without traces of the others", async () => {
  await start({}, {}, { models: { chain: { targets: ["one/x", "two/y"] } } });
  first.answer = (_, res) =>
    json(res, { error: { message: "first" } }, 500, { "retry-after": "5" });
  second.answer = (_, res) => json(res, { error: { message: "second" } }, 500);
  const response = await ask({ model: "chain" });
  assert.equal(
    [
      ...summarize(response),
      response.headers.get("x-portico-model"),
      response.headers.get("retry-after"),
    ],
    [502, "two", "2", "y", null],
  );
  assert.is(((await response.json()) as { error: { message: string } }).error.message, "second");
  assert.equal([first.seen[0]?.body.model, second.seen[0]?.body.model], ["x", "y"]);
});

test("a channel with a missing provider or without an address is 503 with the reason", async () => {
  await start({ provider: "nobody" }, { enabled: false });
  const response = await ask();
  assert.is(response.status, 503);
  assert.match(((await response.json()) as { error: { message: string } }).error.message, "nobody");
});

test("a request that a channel's own configuration makes impossible is reported with its key, and causes neither a retry nor a cooldown", async () => {
  const wrong: [object, RegExp][] = [
    [{ apiKey: "key\n" }, /channels\.one\.apiKey/],
    [{ headers: { "x-name": "Jürgen" } }, /`x-name`.*channels\.one\.headers/],
  ];
  for (const [settings, expected] of wrong) {
    await start({ maxRetries: 2, ...settings });
    for (let i = 0; i < 4; i++) assert.equal(summarize(await ask()).slice(0, 2), [200, "two"]);
    const { state, lastError } = await stateOf("one");
    assert.is(state, "ok");
    assert.match(lastError, expected);
    const alone = await ask({ model: "one/m" });
    assert.is(alone.status, 503);
    assert.match(((await alone.json()) as { error: { message: string } }).error.message, expected);
    await gateway!.stop();
    gateway = undefined;
  }
  assert.is(first.seen.length, 0);
});

test("an address other than http or https is refused with the configuration", async () => {
  for (const baseUrl of ["localhost:8000/v1", "http://[::bad"])
    await start({ baseUrl }).then(
      () => assert.unreachable(),
      (error: Error) => assert.match(error.message, /channels\.one\.baseUrl/),
    );
});

test("list and status name only the models in cooldown if other models of the channel still work", async () => {
  await start({ apiKey: ["k1", "k3"] });
  const readChannels = async () => {
    const list = (await porticoHere(gateway!.home, ["channels", "list"])).stdout;
    const { notices } = await gateway!.json("GET", "/kernel/status");
    const notice = notices.find(({ from }: { from: string }) => from === "channels")?.text ?? "";
    return [/^one +openai +(.*?) {2}/m.exec(list)?.[1] ?? list, notice];
  };
  const limited = (models: string[]) => {
    first.answer = (request, res, count) =>
      models.includes(request.body.model)
        ? json(res, { error: { message: "slow down" } }, 429)
        : ok(request, res, count);
  };
  limited(["a"]);
  for (let i = 0; i < 3; i++) await (await ask({ model: "one/a" })).text();
  assert.equal(summarize(await ask()), [200, "one", "1"]);
  let [row = "", notice = ""] = await readChannels();
  assert.match(row, /^a: resting for \d+ s$/);
  assert.match(notice, /^one: a is in cooldown until \S+Z: slow down$/);

  limited(["b", "c", "d", "e"]);
  for (const model of ["b", "c", "d", "e"])
    for (let i = 0; i < 3; i++) await (await ask({ model: `one/${model}` })).text();
  [row = "", notice = ""] = await readChannels();
  assert.match(row, /^a, b, c and 2 more: resting for \d+ s$/);
  assert.match(notice, /^one: a, b, c and 2 more are in cooldown until/);

  first.answer = (_, res) => json(res, { error: { message: "bad key" } }, 401);
  for (let i = 0; i < 2; i++) await (await ask({ model: "one/m" })).text();
  [row = "", notice = ""] = await readChannels();
  assert.match(row, /^resting for \d+ s$/, "both keys: all models");
  assert.match(notice, /^one: the channel is in cooldown until/);
});

test.run();
