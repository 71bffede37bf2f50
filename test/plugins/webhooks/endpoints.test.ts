/** `wake` and `agent` as outside systems see them: answers, errors and their order, keys, limits. */
import { connect } from "node:net";
import { join } from "node:path";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { until } from "../../support/until.ts";
import { type Receiver, startReceiver, TOKEN, withToken } from "./sender.ts";

const test = suite("endpoints");
let gateway: Receiver;

test.before(async () => {
  gateway = await startReceiver({
    maxBodyBytes: 2000,
    keys: {
      accents: { token: "clé-à-日本", paths: ["wake"] },
      ci: { token: "ci-token", paths: ["wake"], rateLimit: { maxRequests: 3, windowMs: 60_000 } },
    },
    // None of the requests before is forgotten while these tests run: what is left is compared.
    rateLimit: { maxRequests: 500, windowMs: 3_600_000 },
  });
});
test.after(() => gateway.stop());

/** A request as bytes, where fetch would mend it. */
function raw(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(gateway.port, "127.0.0.1");
    let modelText = "";
    socket.on("data", (chunk) => {
      modelText += chunk;
    });
    socket.on("close", () => resolve(modelText));
    socket.on("error", reject);
    // Not ended here: a server may leave a client without a response that has left itself.
    socket.write(text.replace("HOST", `Host: 127.0.0.1:${gateway.port}\r\nConnection: close`));
  });
}

test("wake responds with an event id, and the event can be read", async () => {
  const { status, body, headers } = await gateway.send("/hooks/wake", {
    text: "the build is red",
    metadata: { source: "ci" },
  });
  assert.is(status, 200);
  assert.is(body.status, 200);
  assert.type(body.message, "string");
  assert.match(body.eventId, /^evt_\w+$/);
  for (const name of ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"])
    assert.match(headers.get(name) ?? "", /^\d+$/, name);
  assert.ok(Number(headers.get("ratelimit-reset")) <= 3600, "no longer than the window");
  const event = await gateway.status(`/hooks/events/${body.eventId}`);
  assert.is(event.status, 200);
  assert.is(event.body.state, "queued");
  assert.ok(Date.parse(event.body.createdAt));
});

test("a wake with mode now reaches a finished turn", async () => {
  const { body } = await gateway.send("/hooks/wake", { text: "at once please", mode: "now" });
  const event = await until("the event's turn", async () => {
    const { body: state } = await gateway.status(`/hooks/events/${body.eventId}`);
    return state.state === "done" && state;
  });
  assert.match(event.result, /at once please/);
});

test("agent responds with a turn in the named session, which ends with a result", async () => {
  const { status, body } = await gateway.send("/hooks/agent", {
    message: "say hello",
    session: "webhook:test",
    context: { k: "v" },
  });
  assert.is(status, 200);
  assert.is(body.sessionId, "webhook:test");
  assert.match(body.turnId, /^turn_\w+$/);
  const turn = await gateway.ended(body.turnId);
  assert.is(turn.state, "done");
  assert.match(turn.result, /say hello/);
  assert.match(turn.result, /<<<UNTRUSTED context id=[0-9a-f]+>>>/);
});

test("null counts as absent for optional members and is refused for required ones", async () => {
  const nulls = {
    model: null,
    channel: null,
    session: null,
    context: null,
    delivery: null,
    wait: null,
  };
  const turn = await gateway.send("/hooks/agent", { message: "hello", ...nulls });
  assert.equal([turn.status, turn.body.sessionId], [200, `webhook:${turn.body.turnId}`]);
  assert.is((await gateway.ended(turn.body.turnId)).state, "done");
  const event = await gateway.send("/hooks/wake", { text: "hello", metadata: null, mode: null });
  assert.equal(
    [event.status, event.body.message],
    [200, "The event is queued for the next heartbeat."],
  );
  const missing = await gateway.send("/hooks/agent", { message: null });
  assert.equal([missing.status, missing.body.error.param], [400, "message"]);
});

test("without a session each turn has one of its own", async () => {
  const [first, two] = await Promise.all(
    [1, 2].map(() => gateway.send("/hooks/agent", { message: "x" })),
  );
  assert.match(first?.body.sessionId, /^webhook:/);
  assert.is.not(first?.body.sessionId, two?.body.sessionId);
});

test("wait responds with the result at the turn's end", async () => {
  const { status, body } = await gateway.send("/hooks/agent", {
    message: "wait for me",
    wait: true,
  });
  assert.is(status, 200);
  assert.is(body.result, "wait for me");
});

test("wait responds with the turn's error", async () => {
  const { status, body } = await gateway.send("/hooks/agent", {
    message: "x",
    model: "no-such-model",
    wait: true,
  });
  assert.is(status, 404);
  assert.is(body.error.code, "model_not_found");
  assert.is(body.status, 404);
});

const bad: [string, string, unknown, Record<string, string> | undefined, number, string][] = [
  ["no JSON", "/hooks/wake", "{oops", undefined, 400, "invalid_json"],
  ["an empty body", "/hooks/wake", "", undefined, 400, "invalid_json"],
  [
    "bytes that are no UTF-8",
    "/hooks/wake",
    Buffer.from([0x22, 0xff, 0x22]),
    undefined,
    400,
    "invalid_json",
  ],
  ["a missing field", "/hooks/wake", {}, undefined, 400, "invalid_request_error"],
  [
    "a field of the wrong kind",
    "/hooks/agent",
    { message: 7 },
    undefined,
    400,
    "invalid_request_error",
  ],
  ["an array", "/hooks/agent", [], undefined, 400, "invalid_request_error"],
  ["null", "/hooks/wake", "null", undefined, 400, "invalid_request_error"],
  [
    "another content type",
    "/hooks/wake",
    "a=1",
    withToken({ "content-type": "text/plain" }),
    415,
    "unsupported_media_type",
  ],
  [
    "a form",
    "/hooks/wake",
    "text=1",
    withToken({ "content-type": "application/x-www-form-urlencoded" }),
    415,
    "unsupported_media_type",
  ],
  [
    "a body in an unknown compression",
    "/hooks/wake",
    "{}",
    withToken({ "content-encoding": "compress" }),
    415,
    "unsupported_media_type",
  ],
  [
    "a body that is not compressed as it says",
    "/hooks/wake",
    "{}",
    withToken({ "content-encoding": "gzip" }),
    400,
    "invalid_request_error",
  ],
  ["a huge body", "/hooks/wake", { text: "x".repeat(3000) }, undefined, 413, "body_too_large"],
  ["no credentials", "/hooks/wake", { text: "x" }, {}, 401, "unauthorized"],
  ["an unknown path", "/hooks/a/b", { text: "x" }, undefined, 404, "not_found"],
  ["no mapping", "/hooks", { text: "x" }, undefined, 404, "no_mapping"],
  ["an unknown turn", "/hooks/turns/turn_1", { text: "x" }, undefined, 405, "method_not_allowed"],
];
for (const [what, path, body, headers, status, code] of bad) {
  test(`${what} is answered with ${status} ${code}`, async () => {
    const modelText = await gateway.send(path, body, headers);
    assert.is(modelText.status, status, modelText.text);
    assert.is(modelText.body.status, status);
    assert.is(modelText.body.error.code, code);
    assert.type(modelText.body.error.message, "string");
    assert.ok(modelText.headers.get("ratelimit-limit"), "RateLimit-Limit");
    assert.ok(modelText.headers.get("x-request-id"));
  });
}

test("the order of the checks: method, size, credentials, key, limit, content type, JSON, schema", async () => {
  const big = "x".repeat(3000);
  const get = await fetch(`${gateway.url}/hooks/wake`);
  assert.is(get.status, 405);
  assert.is(get.headers.get("allow"), "POST");
  await get.text();
  assert.is((await gateway.send("/hooks/wake", big, { "content-type": "text/plain" })).status, 413);
  assert.is(
    (await gateway.send("/hooks/wake", "oops", { "content-type": "text/plain" })).status,
    401,
  );
  assert.is(
    (await gateway.send("/hooks/wake", "oops", withToken({ "content-type": "text/plain" }))).status,
    415,
  );
  const keyed = withToken({ "idempotency-key": "order-1" });
  const first = await gateway.send("/hooks/wake", { text: "x" }, keyed);
  const again = await gateway.send("/hooks/wake", "oops", {
    ...keyed,
    "content-type": "text/plain",
  });
  assert.is(again.status, 200);
  assert.equal(again.body, first.body);
});

test("a token is accepted from either header, and from nowhere else", async () => {
  const ok = { text: "x" };
  const statusWith = async (headers: Record<string, string>, path = "/hooks/wake") =>
    (await gateway.send(path, ok, headers)).status;
  assert.is(await statusWith({ "x-service-token": TOKEN }), 200);
  assert.is(await statusWith({ authorization: `bearer ${TOKEN}` }), 200);
  const accents = Buffer.from("clé-à-日本").toString("latin1");
  assert.is(await statusWith({ authorization: `Bearer ${accents}` }), 200);
  assert.is(await statusWith({ "x-service-token": accents }), 200);
  assert.is(await statusWith({ "x-service-token": `${accents}x` }), 401);
  for (const headers of [
    { authorization: TOKEN },
    { authorization: `Bearer  ${TOKEN}` },
    { authorization: `Bearer ${TOKEN}x` },
    { authorization: `Basic ${Buffer.from(`x:${TOKEN}`).toString("base64")}` },
    { authorization: `Bearer ${gateway.token}` },
    { "x-service-token": `x ${TOKEN}` },
  ] as Record<string, string>[])
    assert.is(await statusWith(headers), 401, JSON.stringify(headers));
  assert.is(await statusWith({}, `/hooks/wake?token=${TOKEN}`), 401);
  const body = '{"text":"x"}';
  const twice = await raw(
    `POST /hooks/wake HTTP/1.1\r\nHOST\r\nAuthorization: Bearer ${TOKEN}\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  assert.match(twice, /^HTTP\/1\.1 401 /);
});

test("a repeated idempotency key receives the first response and starts nothing", async () => {
  for (const name of ["idempotency-key", "x-github-delivery", "webhook-id"]) {
    const headers = withToken({ [name]: `key-${name}` });
    const first = await gateway.send(
      "/hooks/agent",
      { message: "once", session: `s:${name}` },
      headers,
    );
    const second = await gateway.send(
      "/hooks/agent",
      { message: "twice", session: `s:${name}` },
      headers,
    );
    assert.equal(second.body, first.body);
    await gateway.ended(first.body.turnId);
    const session = await gateway.json("GET", `/sessions/${encodeURIComponent(`s:${name}`)}`);
    assert.is(session.messageCount, 2);
    assert.is(
      second.headers.get("ratelimit-remaining"),
      first.headers.get("ratelimit-remaining"),
      "a duplicate costs nothing",
    );
  }
});

test("concurrent duplicates start one turn, with wait too, and all get its result", async () => {
  for (const wait of [false, true]) {
    const headers = withToken({ "idempotency-key": `many-${wait}` });
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        gateway.send("/hooks/agent", { message: `number ${i}`, wait }, headers),
      ),
    );
    assert.is(new Set(answers.map(({ body }) => JSON.stringify(body))).size, 1);
    assert.is(answers[0]?.status, 200);
    assert.is(typeof answers[0]?.body.result, wait ? "string" : "undefined");
  }
});

test("a key counts for its token and path only; a refused request is not remembered", async () => {
  const headers = withToken({ "idempotency-key": "scope" });
  const refused = await gateway.send("/hooks/wake", {}, headers);
  assert.is(refused.status, 400);
  const wake = await gateway.send("/hooks/wake", { text: "x" }, headers);
  assert.is(wake.status, 200);
  const agent = await gateway.send("/hooks/agent", { message: "x" }, headers);
  assert.ok(agent.body.turnId);
  const other = await gateway.send(
    "/hooks/wake",
    { text: "x" },
    { "x-service-token": "ci-token", "idempotency-key": "scope" },
  );
  assert.is.not(other.body.eventId, wake.body.eventId);
});

test("a named key has a limit of its own, and only its paths", async () => {
  const headers = { authorization: "Bearer ci-token" };
  assert.is((await gateway.send("/hooks/agent", { message: "x" }, headers)).status, 403);
  let remaining = 3;
  for (let i = 0; i < 4; i++) {
    const { status, headers: responseHeaders } = await gateway.send(
      "/hooks/wake",
      { text: "x" },
      headers,
    );
    if (status !== 200) break;
    remaining = Number(responseHeaders.get("ratelimit-remaining"));
    assert.is(responseHeaders.get("ratelimit-limit"), "3");
  }
  assert.is(remaining, 0);
  const limited = await gateway.send("/hooks/wake", "oops", {
    ...headers,
    "content-type": "text/plain",
  });
  assert.is(limited.status, 429);
  assert.is(limited.body.error.code, "rate_limit_exceeded");
  assert.match(limited.headers.get("retry-after") ?? "", /^([1-9]|[1-5]\d|60)$/);
  assert.is(limited.headers.get("ratelimit-remaining"), "0");
  assert.is(
    (await gateway.send("/hooks/wake", { text: "x" })).status,
    200,
    "the other token is not limited",
  );
});

test("message:received and webhook:received are emitted", async () => {
  const events: { name: string; context: Record<string, unknown> }[] = [];
  const stop = gateway.gateway.bus.onAny(({ name, context }) =>
    events.push({ name, context: context as never }),
  );
  const { body } = await gateway.send("/hooks/agent", { message: "seen by hooks" });
  await gateway.ended(body.turnId);
  await until("both", () =>
    ["webhook:received", "message:received"].every((each) =>
      events.some(({ name }) => name === each),
    ),
  );
  await stop();
  const webhook = events.find(({ name }) => name === "webhook:received")?.context as Record<
    string,
    unknown
  >;
  assert.is(webhook["source"], "agent");
  assert.is(webhook["turnId"], body.turnId);
  assert.equal(webhook["body"], { message: "seen by hooks" });
  assert.is((webhook["headers"] as Record<string, string>)["authorization"], "********");
  const message = events.find(({ name }) => name === "message:received")?.context as Record<
    string,
    unknown
  >;
  assert.is(message["content"], "seen by hooks");
});

test("states are for webhooks' own turns, and for those who hold a token", async () => {
  const { turnId } = await gateway.json("POST", "/agent", { message: "private", wait: true });
  assert.is((await gateway.status(`/hooks/turns/${turnId}`)).status, 404);
  const open = await fetch(`${gateway.url}/hooks/turns/${turnId}`);
  assert.is(open.status, 401);
  await open.text();
});

test("an unwritable store leads to a 503, and nothing is accepted", async () => {
  const { default: Database } = (await import("libsql")) as unknown as {
    default: new (file: string) => { exec(sql: string): void; close(): void };
  };
  const other = new Database(join(gateway.home, "state", "portico.db"));
  other.exec("BEGIN IMMEDIATE");
  const headers = withToken({ "idempotency-key": "while-locked" });
  const refused = await gateway.send("/hooks/agent", { message: "now or later" }, headers);
  other.exec("ROLLBACK");
  other.close();
  assert.is(refused.status, 503, refused.text);
  assert.is(refused.body.error.code, "store_unavailable");
  assert.match(refused.headers.get("retry-after") ?? "", /^\d+$/);
  const accepted = await gateway.send(
    "/hooks/agent",
    { message: "now or later", wait: true },
    headers,
  );
  assert.is(accepted.body.result, "now or later");
});

// last: it uses up what this address may get wrong
test("refused credentials have a bucket of their own, and a right token always passes", async () => {
  const statuses: number[] = [];
  let last: Awaited<ReturnType<Receiver["send"]>> | undefined;
  for (let i = 0; i < 25; i++) {
    last = await gateway.send("/hooks/wake", { text: "x" }, { authorization: "Bearer wrong" });
    statuses.push(last.status);
  }
  assert.ok(statuses.includes(401));
  assert.is(last?.status, 429);
  assert.is(last?.body.error.code, "too_many_attempts");
  assert.match(last?.headers.get("retry-after") ?? "", /^\d+$/);
  assert.is((await gateway.send("/hooks/wake", { text: "x" })).status, 200);
  const spoofed = await gateway.send(
    "/hooks/wake",
    { text: "x" },
    { authorization: "Bearer wrong", "x-forwarded-for": "9.9.9.9" },
  );
  assert.is(spoofed.status, 429, "X-Forwarded-For does not count");
});

test.run();
