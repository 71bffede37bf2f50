/** What strangers, other senders and odd bodies may not do. */
import { createHmac } from "node:crypto";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { readForm } from "../../../plugins/webhooks/bodies/forms.ts";
import { createVerifier } from "../../../plugins/webhooks/intake/signatures.ts";
import { readXml } from "../../../plugins/webhooks/bodies/xml.ts";
import { maskPayload } from "../../../plugins/webhooks/mask.ts";
import { lookUp, readPath } from "../../../plugins/webhooks/mappings/paths.ts";
import { readTemplate } from "../../../plugins/webhooks/mappings/template.ts";
import type { VerifyConfig } from "../../../plugins/webhooks/schema.ts";
import { startGateway } from "../../support/gateway.ts";
import { assertLinear } from "../../support/growth.ts";
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
    const answer = await gateway.send(`/hooks/echo?t=shop-token`, {}, headers);
    assert.is(answer.status, 200, answer.text);
    assert.match(answer.text, / red \*/);
    assert.not.match(answer.text + answer.headers.get("x-echo"), /hook-token|ci-token|shop-token/);
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
  assert.ok(deliveries.some((one: { itemId?: string }) => one.itemId === body.eventId));
  const refused = deliveries.filter(
    (one: { status: number }) => one.status === 401 || one.status === 429,
  );
  assert.ok(refused.length <= 20, `${refused.length} refused rows`);
  assert.ok(
    JSON.stringify(refused).length < 20 * 3000,
    `${JSON.stringify(refused).length} characters`,
  );
  const { deliveries: shown } = await gateway.json("GET", "/webhooks/deliveries?limit=4");
  assert.ok(
    shown.some((one: { outcome: string }) => one.outcome === "accepted"),
    "nor out of sight",
  );
  assert.is(shown.length, 4);
  const times = shown.map((one: { at: string }) => one.at);
  assert.equal(times, [...times].sort().reverse());
});

test("who has tried too often leaves no more rows", async () => {
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
  const weak: VerifyConfig[] = [
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
    const asked = JSON.stringify(verify);
    assert.throws(
      () => createVerifier(verify, "webhooks.mappings.x.verify"),
      /verify\.(hmac\.)?secret/,
      asked,
    );
  }
  for (const verify of weak) {
    const config = { webhooks: { mappings: { x: { verify } } } };
    const started = await startGateway({ config, env: { EMPTY: "" } }).then(
      (one) => one.stop().then(() => "started"),
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
      (one) => one.stop().then(() => true),
      (error) => error.message,
    );
    if (fits) assert.is(started, true);
    else assert.match(started, "webhooks.mappings.x.verify.secret");
  }
});

test("a caller who waits gets the status of the model's refusal", async () => {
  const upstream = await startUpstream((seen, res) => {
    const status = Number([...seen.raw.matchAll(/status (\d+)/g)].at(-1)?.[1]);
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
      const answer = await other.send("/hooks/agent", request);
      assert.is(answer.status, status, answer.text);
      assert.is(answer.body.status, status);
      assert.match(answer.body.error.message, /Not this/);
      const direct = await other.request("POST", "/agent", request);
      assert.is(direct.status, status);
      await direct.text();
    }
  } finally {
    await other.stop();
    await upstream.close();
  }
});

test("whatever is read from outside takes time in line with its size", () => {
  const raw = (text: string) => Buffer.from(text);
  assertLinear(
    "the mask of a form",
    15_000,
    (size) => "token".repeat(size / 5),
    (text) => maskPayload(text, ["secret"]),
  );
  assertLinear(
    "the mask of names",
    15_000,
    (size) => "a.".repeat(size / 2),
    (text) => maskPayload(text, []),
  );
  assertLinear(
    "the mask of fields",
    15_000,
    (size) => "api-key=1&".repeat(size / 10),
    (text) => maskPayload(text, []),
  );
  assertLinear(
    "the mask of JSON",
    15_000,
    (size) => `${'{"a":'.repeat(500)}[${"1,".repeat(size)}1]${"}".repeat(500)}`,
    (text) => maskPayload(text, []),
  );
  // What is linear without limits is so with them.
  const unlimited = { maxValues: 1e9, maxMembers: 1e9, maxDepth: 1e9 };
  const readAnyForm = (text: string) => readForm(text, unlimited);
  const readAnyXml = (text: string) => readXml(text, unlimited);
  assertLinear(
    "a form of names",
    15_000,
    (size) => Array.from({ length: size / 5 }, (_, i) => `a${i}=1`).join("&"),
    readAnyForm,
  );
  assertLinear("a form of one name", 15_000, (size) => "a=1&".repeat(size / 4), readAnyForm);
  assertLinear("a form's payload", 15_000, (size) => `payload=${"[".repeat(size)}`, readAnyForm);
  for (const [what, piece] of [
    ["elements", "<b c='1'>x</b>"],
    ["open elements", "<a"],
    ["long names", "abcdefghij"],
    ["ends", "]]>"],
    ["entities", "&amp;"],
    ["attributes", " b"],
  ] as const) {
    const make = (size: number) =>
      `<a>${piece.startsWith("abc") ? "<" : ""}${piece.repeat(size / piece.length)}</a>`;
    assertLinear(`XML of ${what}`, 15_000, make, readAnyXml);
    assertLinear(`the mask of XML of ${what}`, 15_000, make, (text) => maskPayload(text, []));
  }
  assertLinear(
    "a path",
    15_000,
    (size) => `body${".a".repeat(size / 2)}`,
    (text) => readPath(text),
  );
  assertLinear(
    "a path's quotes",
    15_000,
    (size) => `body["${"\\".repeat(size)}`,
    (text) => readPath(text),
  );
  assertLinear(
    "a look into a body",
    15_000,
    (size) => ({ list: Array.from({ length: size }, String) }),
    (body) => lookUp({ body, headers: {}, query: {} }, readPath("body.list[7].length")!),
  );
  const template = readTemplate("{body.a} {json body.a}", "message");
  assertLinear(
    "a template",
    15_000,
    (size) => "{body.a}".repeat(size / 8),
    (a) => template.render({ body: { a }, headers: {}, query: {} }),
  );
  const schemes: [VerifyConfig, string, (size: number) => string][] = [
    [
      { scheme: "stripe", secret: "s" },
      "stripe-signature",
      (size) => `t=1,${"v1=ab,".repeat(size / 6)}`,
    ],
    [
      { scheme: "standard", secret: `whsec_${"A".repeat(32)}` },
      "webhook-signature",
      (size) => "v1,abc ".repeat(size / 7),
    ],
    [
      { scheme: "standard", secret: `whpk_${"A".repeat(43)}=` },
      "webhook-signature",
      (size) => "v1a,abc ".repeat(size / 8),
    ],
    [
      { scheme: "github", secret: "s" },
      "x-hub-signature-256",
      (size) => `sha256=${"=".repeat(size)}`,
    ],
  ];
  for (const [verify, header, make] of schemes) {
    const verifier = createVerifier(verify, "verify");
    const body = raw("x".repeat(20_000));
    assertLinear(`a signature of ${verifier.scheme}`, 1000, make, (text) =>
      verifier.problem({
        headers: { [header]: text, "webhook-id": "1", "webhook-timestamp": "1" },
        body,
        now: 0,
      }),
    );
  }
});

test("thousands of signatures on one request cost no more than a few", async () => {
  const verifier = createVerifier(
    { scheme: "standard", secret: `whsec_${"A".repeat(32)}` },
    "verify",
  );
  const body = Buffer.alloc(1024 * 1024, "x");
  const key = Buffer.from("A".repeat(32), "base64");
  const right = createHmac("sha256", key).update("1.1.").update(body).digest("base64");
  const headers = (signature: string) => ({
    "webhook-id": "1",
    "webhook-timestamp": "1",
    "webhook-signature": signature,
  });
  assert.is(
    verifier.problem({ headers: headers(`v1,wrong v1,${right}`), body, now: 1000 }),
    undefined,
  );
  // Each of them checked by itself takes a millisecond at least.
  const before = process.cpuUsage();
  verifier.problem({ headers: headers("v1,abc ".repeat(5000)), body, now: 1000 });
  const ms = process.cpuUsage(before).user / 1000;
  assert.ok(ms < 1000, `${ms} ms`);
});

test("secrets are masked by name in forms, JSON and XML", () => {
  for (const payload of [
    "a=1&api_key=hunter2&b=2",
    '{"a":{"password":"hunter2"}}',
    '<x><password kind="a">hunter2</password><b>1</b></x>',
  ])
    assert.not.match(maskPayload(payload, []), "hunter2");
  assert.is(maskPayload("<x><name>Ada</name></x>", []), "<x><name>Ada</name></x>");
});

test("names that JavaScript has a meaning for are names like any other", async () => {
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
