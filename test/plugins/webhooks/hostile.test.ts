/** What strangers, other senders and odd bodies may not do. */
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { startGateway } from "../../support/gateway.ts";
import { startUpstream } from "../../support/upstreams/upstream.ts";
import { type Receiver, startReceiver, TOKEN, withToken } from "./sender.ts";

const test = suite("hostile webhooks");
let gateway: Receiver;

test.before(async () => {
  gateway = await startReceiver({
    keys: {
      ci: { token: "ci-token", paths: ["wake", "agent", "grouped", "echo"] },
      shop: { token: "shop-token" },
    },
    log: { keep: 50, keepRefused: 20 },
    mappings: {
      echo: {
        message: "{headers.authorization} {headers.x-service-token} {headers.x-team} {query.t}",
        wait: true,
        respond: {
          headers: { "x-echo": "{headers.authorization}" },
          body: "{headers.authorization} {result}",
        },
      },
      grouped: {
        message: "{body.x}",
        coalesce: { key: "{body.x}", windowMs: 60_000, maxWaitMs: 60_000 },
      },
    },
  });
});
test.after(() => gateway.stop());

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

test("a key sees what it has started itself, and nothing of another sender's", async () => {
  const { body: turn } = await gateway.send(
    "/hooks/agent",
    { message: "of the shop" },
    bearer("shop-token"),
  );
  const { body: event } = await gateway.send(
    "/hooks/wake",
    { text: "of the shop" },
    bearer("shop-token"),
  );
  const { body: burst } = await gateway.send("/hooks/grouped", { x: 1 }, bearer("shop-token"));
  const paths = [`turns/${turn.turnId}`, `events/${event.eventId}`, `turns/${burst.turnId}`];
  const statusOf = async (path: string, token: string) =>
    (await fetch(`${gateway.url}/hooks/${path}`, { headers: bearer(token) })).status;
  for (const path of paths) {
    assert.is(await statusOf(path, "shop-token"), 200, path);
    assert.is(await statusOf(path, TOKEN), 200, path);
    assert.is(await statusOf(path, "ci-token"), 404, path);
  }
  // what no webhook has started is no webhook's business, not even the main token's
  const { turnId } = await gateway.json("POST", "/agent", { message: "the owner's" });
  for (const token of [TOKEN, "ci-token", "shop-token"])
    assert.is(await statusOf(`turns/${turnId}`, token), 404);
});

test("the caller's token is in no message, session or response, however a mapping is written", async () => {
  for (const headers of [
    withToken({ "x-team": "red" }),
    { "x-service-token": "ci-token", "x-team": "red" },
  ]) {
    const response = await gateway.send(`/hooks/echo?t=shop-token`, {}, headers);
    assert.is(response.status, 200, response.text);
    assert.match(response.text, / red \*/);
    assert.not.match(
      response.text + response.headers.get("x-echo"),
      /hook-token|ci-token|shop-token/,
    );
  }
});

test("refused requests push no accepted delivery out of the log, and leave next to nothing", async () => {
  const { body } = await gateway.send("/hooks/wake", { text: "keep me" });
  const junk = Object.fromEntries(
    Array.from({ length: 30 }, (_, i) => [`x-junk-${i}`, "j".repeat(400)]),
  );
  const flood = Array.from({ length: 120 }, () =>
    gateway.send(
      `/hooks/wake?${"q".repeat(500)}=1`,
      { text: "x".repeat(5000) },
      { ...junk, authorization: "Bearer no" },
    ),
  );
  assert.ok((await Promise.all(flood)).every(({ status }) => status === 401 || status === 429));
  const { deliveries } = await gateway.json("GET", "/webhooks/deliveries?limit=1000");
  assert.ok(deliveries.some((delivery: { itemId?: string }) => delivery.itemId === body.eventId));
  const refused = deliveries.filter(
    (delivery: { status: number }) => delivery.status === 401 || delivery.status === 429,
  );
  assert.ok(refused.length <= 20, `${refused.length} refused rows`);
  assert.ok(
    JSON.stringify(refused).length < 20 * 3000,
    `${JSON.stringify(refused).length} characters`,
  );
  const { deliveries: listed } = await gateway.json("GET", "/webhooks/deliveries?limit=4");
  assert.ok(
    listed.some((delivery: { outcome: string }) => delivery.outcome === "accepted"),
    "nor out of sight",
  );
  assert.is(listed.length, 4);
  const times = listed.map((delivery: { at: string }) => delivery.at);
  assert.equal(times, [...times].sort().reverse());
});

test("a caller over the limit of attempts leaves no more rows", async () => {
  const own = await startReceiver({ log: { keep: 50, keepRefused: 1000 } });
  try {
    for (let i = 0; i < 60; i++)
      await own.send(`/hooks/${["wake", "agent", "none", ""][i % 4]}`, {}, bearer(`no-${i}`));
    const { deliveries } = await own.json("GET", "/webhooks/deliveries?limit=1000");
    assert.is(deliveries.length, 20);
  } finally {
    await own.stop();
  }
});

test("a signing secret that anybody could guess is an error of the configuration, by name", async () => {
  const key = Buffer.alloc(15, 7).toString("base64");
  const weak = [
    { scheme: "standard", secret: "whsec_${EMPTY}" },
    { scheme: "standard", secret: "whsec_" },
    { scheme: "standard", secret: `whsec_${key}` },
    { scheme: "standard", secret: key },
    { scheme: "standard", secret: ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_ "] },
    { scheme: "standard", secret: "whsec_\n" },
    { scheme: "standard", secret: `whsec_${"!".repeat(30)}` },
    { scheme: "standard", secret: `whsec_AA==${"A".repeat(30)}` },
    { scheme: "standard", secret: "whpk_\n" },
    { scheme: "gitlab", secret: "whsec_AAAA" },
    { scheme: "gitlab", secret: `whsec_\n${" ".repeat(30)}` },
    { scheme: "stripe", secret: "whsec_" },
    { scheme: "github", secret: " " },
    { hmac: { header: "x-sign", algorithm: "sha256", encoding: "hex", secret: "" } },
  ];
  for (const verify of weak) {
    const config = { webhooks: { mappings: { x: { verify } } } };
    const started = await startGateway({ config, env: { EMPTY: "" } }).then(
      (gateway) => gateway.stop().then(() => "started"),
      (error) => error.message,
    );
    assert.match(
      started,
      /webhooks\.mappings\.x\.verify(\.hmac)?(\.| has a )secret/,
      JSON.stringify(verify),
    );
  }
});

test("a verify of a wrong type is reported as a wrong type", async () => {
  for (const [verify, at] of [
    [null, "verify"],
    ["github", "verify"],
    [{ scheme: null, secret: "s" }, "verify"],
    [{ scheme: "github", secret: [7] }, "verify.secret"],
  ]) {
    const config = { webhooks: { mappings: { x: { verify } } } };
    const message = await startGateway({ config }).then(
      () => "started",
      (error) => error.message,
    );
    assert.match(message, `webhooks.mappings.x.${at}`, JSON.stringify(verify));
  }
});

test("Stripe's secrets are texts, not Base64: a short one is taken, an empty one is not", async () => {
  for (const [secret, fits] of [
    ["whsec_test_secret", true],
    [["whsec_test_secret", "whsec_5f0c"], true],
    ["whsec_", false],
    [["whsec_test_secret", " "], false],
  ] as const) {
    const config = { webhooks: { mappings: { x: { verify: { scheme: "stripe", secret } } } } };
    const started = await startGateway({ config }).then(
      (gateway) => gateway.stop().then(() => true),
      (error) => error.message,
    );
    if (fits) assert.is(started, true);
    else assert.match(started, "webhooks.mappings.x.verify.secret");
  }
});

test("a caller who waits gets the status of the model's refusal", async () => {
  const upstream = await startUpstream((request, res) => {
    const status = Number([...request.raw.matchAll(/status (\d+)/g)].at(-1)?.[1]);
    res.writeHead(status, { "content-type": "application/json" });
    res.end(
      JSON.stringify({
        error: { message: "Not this.", type: "invalid_request_error", code: "odd_request" },
      }),
    );
  });
  const other = await startReceiver(
    {},
    {
      config: {
        channels: {
          up: {
            provider: "openai",
            baseUrl: upstream.url,
            apiKey: "k",
            models: ["m"],
            maxRetries: 0,
          },
        },
      },
    },
  );
  try {
    for (const [upstreamStatus, status] of [
      [400, 400],
      [413, 413],
      [422, 422],
    ]) {
      const request = { message: `status ${upstreamStatus}`, model: "up/m", wait: true };
      const response = await other.send("/hooks/agent", request);
      assert.is(response.status, status, response.text);
      assert.is(response.body.status, status);
      assert.match(response.body.error.message, /Not this/);
      const direct = await other.request("POST", "/agent", request);
      assert.is(direct.status, status);
      await direct.text();
    }
  } finally {
    await other.stop();
    await upstream.close();
  }
});

test("secrets are masked by name in forms, JSON and XML", async () => {
  for (const [type, payload] of [
    ["application/x-www-form-urlencoded", "a=1&api_key=hunter2&b=2"],
    ["application/json", '{"a":{"password":"hunter2"},"b":2}'],
    ["application/xml", '<x><password kind="a">hunter2</password><name>Ada</name></x>'],
  ] as const) {
    const headers = withToken({ "content-type": type, "x-request-id": `mask-${type.length}` });
    const { status, text } = await gateway.send("/hooks/echo", payload, headers);
    assert.is(status, 200, text);
    const { deliveries } = await gateway.json("GET", "/webhooks/deliveries?limit=1");
    const detail = await gateway.json("GET", `/webhooks/deliveries/${deliveries[0].id}`);
    assert.not.match(JSON.stringify(detail), "hunter2");
    assert.match(JSON.stringify(detail), /b=2|\bb\b.*2|Ada/, "the rest is there");
  }
});

test("names with a meaning in JavaScript are ordinary names", async () => {
  for (const path of [
    "/hooks/__proto__",
    "/hooks/constructor",
    "/hooks/events/__proto__",
    "/hooks/turns/constructor",
  ]) {
    const method = path.split("/").length > 3 ? "GET" : "POST";
    const response = await fetch(gateway.url + path, { method, headers: withToken({}) });
    assert.is(response.status, 404, path);
    await response.text();
  }
});

test.run();
