/** Senders that name their body wrongly, that wrap it in a form, or that ask first; and why a delivery is skipped. */
import { createHmac, randomUUID } from "node:crypto";
import { request as httpRequest } from "node:http";
import { gzipSync } from "node:zlib";
import * as assert from "uvu/assert";
import { porticoHere } from "../../support/portico.ts";
import { suite } from "../../support/suite.ts";
import { type Receiver, startReceiver, TOKEN, withToken } from "./sender.ts";

const SECRET = "a-signing-secret-of-tests";
const test = suite("kinds of bodies");
let gateway: Receiver;

test.before(async () => {
  gateway = await startReceiver({
    mappings: {
      note: { match: { "body.Type": "Notification" }, message: "{body.Subject}" },
      asJson: { body: "json", message: "{body.a}" },
      asForm: { body: "form", message: "{body.a}" },
      asText: { body: "text", message: "{body.text}" },
      asXml: { body: "xml", message: "{body.order.id}" },
      gh: {
        match: {
          "headers.x-github-event": "issues",
          "body.action": { in: ["opened", "reopened"] },
        },
        message: "Look at {body.issue.title}",
        verify: { scheme: "github", secret: SECRET },
      },
      asked: {
        methods: ["GET", "HEAD", "POST"],
        match: { 'query["hub.mode"]': "subscribe", "body.x": { exists: true } },
        message: "{body.x}",
        verify: { scheme: "github", secret: SECRET },
        respond: { body: '{query["hub.challenge"]}' },
      },
      askedWithToken: { methods: ["GET", "POST"], message: "x", respond: { body: "here" } },
      button: { methods: ["GET"], message: "Pressed {query.id}" },
      put: { methods: ["PUT", "PATCH"], message: "{body.a}" },
    },
  });
});
test.after(() => gateway.stop());

/** `fetch` adds a content type of its own to texts. */
function sendRaw(path: string, headers: Record<string, string>, body: string | Buffer) {
  return new Promise<{ status: number; body: any }>((resolve, reject) => {
    const url = new URL(gateway.url + path);
    const req = httpRequest(
      url,
      { method: "POST", headers: { authorization: `Bearer ${TOKEN}`, ...headers } },
      (res) => {
        let text = "";
        res.on("data", (part) => {
          text += part;
        });
        res.on("end", () => resolve({ status: res.statusCode ?? 0, body: JSON.parse(text) }));
      },
    );
    req.on("error", reject);
    req.end(body);
  });
}

const notification = '{"Type":"Notification","Subject":"Alarm"}';
const types = [
  "text/plain; charset=UTF-8",
  "text/json",
  "application/x-json",
  "application/csp-report",
  "application/vnd.api+json",
  "application/octet-stream",
  "",
];
for (const type of types)
  test(`JSON is read as JSON: ${type || "without a type"}`, async () => {
    const headers: Record<string, string> = type === "" ? {} : { "content-type": type };
    const plain = await sendRaw("/hooks/note", headers, notification);
    assert.ok(plain.body.turnId, JSON.stringify(plain));
    const compressed = { ...headers, "content-encoding": "gzip" };
    const { body } = await sendRaw("/hooks/note", compressed, gzipSync(notification));
    assert.ok(body.turnId, JSON.stringify(body));
  });

test("a signature covers the compressed bytes or what they hold, and nothing else", async () => {
  const issue = JSON.stringify({ action: "opened", issue: { title: "Bug" } });
  const compressed = gzipSync(issue);
  const send = async (path: string, signed: string | Buffer) => {
    const signature = createHmac("sha256", SECRET).update(signed).digest("hex");
    const { status, body } = await sendRaw(
      path,
      {
        authorization: "",
        "content-type": "application/json",
        "content-encoding": "gzip",
        "x-github-event": "issues",
        "x-github-delivery": randomUUID(),
        "x-hub-signature-256": `sha256=${signature}`,
      },
      compressed,
    );
    return [status, typeof body.turnId];
  };
  for (const path of ["/hooks/gh", "/hooks"]) {
    assert.equal(await send(path, issue), [200, "string"], path);
    assert.equal(await send(path, compressed), [200, "string"], path);
    assert.is((await send(path, `${issue} `))[0], 401, path);
  }
});

test("a body that is not JSON and has no known type receives a 415", async () => {
  const { status, body } = await sendRaw(
    "/hooks/note",
    { "content-type": "application/octet-stream" },
    "not json",
  );
  assert.equal([status, body.error.code], [415, "unsupported_media_type"]);
});

const kinds: [mapping: string, body: string, expected: string][] = [
  ["asJson", '{"a":"from json"}', "from json"],
  ["asForm", "a=from+a+form", "from a form"],
  ["asText", '{"a":1}', '{"a":1}'],
  ["asXml", "<order><id>7</id></order>", "7"],
];
for (const [mapping, body, expected] of kinds)
  test(`a mapping says what its sender sends: ${mapping}`, async () => {
    for (const type of ["text/plain", "application/octet-stream", "image/png"]) {
      const response = await sendRaw(`/hooks/${mapping}`, { "content-type": type }, body);
      assert.ok(response.body.turnId, JSON.stringify(response.body));
      const { result } = await gateway.ended(response.body.turnId);
      assert.match(result, expected, type);
    }
  });

test("a body of another kind than the mapping's receives a 400", async () => {
  const { status, body } = await sendRaw("/hooks/asJson", { "content-type": "text/plain" }, "a=1");
  assert.equal([status, body.error.code], [400, "invalid_json"]);
});

const signed = (body: string) => ({
  "x-github-event": "issues",
  "x-github-delivery": randomUUID(),
  "x-hub-signature-256": `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`,
});
const issue = JSON.stringify({ action: "opened", issue: { number: 7, title: "A bug & more" } });

for (const path of ["/hooks/gh", "/hooks"])
  test(`GitHub's form is the JSON in it: POST ${path}`, async () => {
    const form = `payload=${encodeURIComponent(issue)}`;
    for (const [type, body] of [
      ["application/json", issue],
      ["application/x-www-form-urlencoded", form],
    ] as const) {
      const response = await gateway.send(path, body, { "content-type": type, ...signed(body) });
      assert.ok(response.body.turnId, response.text);
      const { result } = await gateway.ended(response.body.turnId);
      assert.match(result, "A bug & more", type);
    }
  });

test("a form with more than a payload stays a form", async () => {
  const body = `payload=${encodeURIComponent(issue)}&other=1`;
  const type = "application/x-www-form-urlencoded";
  const response = await gateway.send("/hooks/gh", body, { "content-type": type, ...signed(body) });
  assert.is(response.body.outcome, "skipped");
});

test("a replay reads the body in the same way", async () => {
  const body = `payload=${encodeURIComponent(issue)}`;
  const type = "application/x-www-form-urlencoded";
  await gateway.send("/hooks/gh", body, { "content-type": type, ...signed(body) });
  const { deliveries } = await gateway.json("GET", "/webhooks/deliveries?source=gh&limit=1");
  assert.is(deliveries[0].outcome, "accepted", JSON.stringify(deliveries[0]));
  const replay = await gateway.json("POST", `/webhooks/deliveries/${deliveries[0].id}/replay`);
  assert.match((await gateway.ended(replay.turnId)).result, "A bug & more");
});

test("a sender's verification request receives its response and starts nothing", async () => {
  const query = "hub.mode=subscribe&hub.challenge=%3Cb%3E12345";
  for (const method of ["GET", "HEAD"]) {
    const response = await fetch(`${gateway.url}/hooks/asked?${query}`, { method });
    assert.is(response.status, 200);
    assert.match(response.headers.get("content-type") ?? "", "text/plain");
    assert.is(await response.text(), method === "GET" ? "<b>12345" : "");
  }
  const wrong = await fetch(`${gateway.url}/hooks/asked?hub.mode=other`);
  assert.is(wrong.status, 403);
  const { deliveries } = await gateway.json("GET", "/webhooks/deliveries?source=asked");
  assert.equal(
    deliveries.map(({ outcome }: { outcome: string }) => outcome),
    ["unauthorized"],
    "questions leave no delivery behind",
  );
});

test("without a signature to check, a question needs the token", async () => {
  const path = `${gateway.url}/hooks/askedWithToken`;
  assert.is((await fetch(path)).status, 401);
  const response = await fetch(path, { headers: withToken({}) });
  assert.equal([response.status, await response.text()], [200, "here"]);
});

test("a GET without a response of its own starts a turn", async () => {
  const response = await fetch(`${gateway.url}/hooks/button?id=7`, { headers: withToken({}) });
  const { turnId } = (await response.json()) as { turnId: string };
  assert.match((await gateway.ended(turnId)).result, "Pressed 7");
  assert.is((await fetch(`${gateway.url}/hooks/button?id=7`)).status, 401);
});

test("other methods receive a 405 that lists the mapping's methods", async () => {
  const rows: [path: string, method: string, allow: string][] = [
    ["note", "GET", "POST"],
    ["put", "POST", "PUT, PATCH"],
    ["button", "POST", "GET"],
    ["wake", "GET", "POST"],
  ];
  for (const [path, method, allow] of rows) {
    const response = await fetch(`${gateway.url}/hooks/${path}`, {
      method,
      headers: withToken({}),
    });
    assert.equal([response.status, response.headers.get("allow")], [405, allow], path);
  }
  const put = { method: "PUT", headers: withToken({ "content-type": "application/json" }) };
  const response = await fetch(`${gateway.url}/hooks/put`, { ...put, body: '{"a":"put"}' });
  assert.is(response.status, 200);
});

test("a skipped delivery says which condition does not hold, and what the value was", async () => {
  const response = await gateway.send("/hooks/note", { Type: "Other", Subject: "x" });
  const reason = { path: "body.Type", expected: "Notification", actual: "Other" };
  assert.equal([response.body.outcome, response.body.reason], ["skipped", reason]);
  const missing = await gateway.send("/hooks/note", {});
  assert.equal(missing.body.reason, { path: "body.Type", expected: "Notification" });
  const { deliveries } = await gateway.json("GET", "/webhooks/deliveries?outcome=skipped&limit=2");
  assert.equal(deliveries[1].reason, reason);
  const words = ["webhooks", "show", deliveries[1].id];
  const { stdout } = await porticoHere(gateway.home, words);
  assert.match(stdout, 'body.Type must be "Notification", but is "Other"');
  const { reason: tested } = await gateway.json("POST", "/webhooks/test", {
    path: "note",
    body: { Type: 1 },
  });
  assert.equal(tested, { ...reason, actual: 1 });
});

test.run();
