/** What senders like: an answer that they understand, bodies as they send them, keys that may do what they are for. */
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { startGateway } from "../../support/gateway.ts";
import { type Receiver, startReceiver, withToken } from "./sender.ts";

const test = suite("senders");
let gateway: Receiver;

test.before(async () => {
  gateway = await startReceiver({
    keys: {
      ci: { token: "ci-token" },
      shop: { token: "shop-token", sessions: ["shop:*", "orders"], models: ["echo", "gpt-*"] },
    },
    mappings: {
      opened: { match: { "body.action": "opened" }, message: "{body.title}" },
      any: { message: "{json body}" },
      ticket: {
        message: "Ticket {body.id}",
        session: "webhook:tickets:{body.id}",
        respond: {
          status: 201,
          headers: {
            "X-Ticket": "{body.id}\r\nx-evil: 1",
            "content-type": "application/vnd.ticket+json",
          },
          body: {
            ok: true,
            id: "{body.id}",
            turn: "{turnId}",
            session: "{sessionId}",
            list: ["{query.q}", 7],
          },
        },
      },
      asked: {
        message: "Say {body.word}",
        wait: true,
        respond: { body: "You get: {result} for {body.word}" },
      },
      waits: { message: "Say {body.word}", wait: true },
      first: { message: "Step: {body.build.step[0].id};" },
      empty: { action: "wake", message: "{body.x}", respond: { status: 204 } },
    },
  });
});
test.after(() => gateway.stop());

interface Received {
  headers: Record<string, string>;
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

async function bodyOf(type: string, body: string | Uint8Array): Promise<unknown> {
  const response = await gateway.send("/hooks/any", body, withToken({ "content-type": type }));
  assert.is(response.status, 200, response.text);
  const { result } = await gateway.ended(response.body.turnId);
  return JSON.parse(/>>>\n[^\n]*\n([\s\S]*?)\n<<<END/.exec(result)?.[1] ?? "");
}

test("a request that does not match is skipped with 200 and recorded as skipped", async () => {
  const response = await gateway.send("/hooks/opened", { action: "closed" });
  assert.is(response.status, 200);
  assert.is(response.body.outcome, "skipped");
  assert.is(response.body.turnId, undefined);
  assert.is((await gateway.send("/hooks/opened", { action: "closed" }, {})).status, 401);
  assert.is((await gateway.send("/hooks", { action: "closed", nothing: 1 })).status, 404);
  const { deliveries } = await gateway.json("GET", "/webhooks/deliveries?outcome=skipped");
  assert.is(deliveries[0].source, "opened");
});

test("multipart forms have fields, files and a payload", async () => {
  const form = new FormData();
  form.append("event", "media.play");
  form.append("tag", "a");
  form.append("tag", "b");
  form.append("payload", '{"deep":{"x":1}}');
  form.append("thumb", new File([Buffer.from([0, 255, 10])], "a b.png", { type: "image/png" }));
  const request = new Response(form);
  const type = request.headers.get("content-type") as string;
  const bytes = new Uint8Array(await request.arrayBuffer());
  const wanted = {
    event: "media.play",
    tag: ["a", "b"],
    payload: { deep: { x: 1 } },
    thumb: { filename: "a b.png", type: "image/png", bytes: 3, base64: "AP8K" },
  };
  assert.equal(await bodyOf(type, bytes), wanted);
  const { deliveries } = await gateway.json("GET", "/webhooks/deliveries?source=any&limit=1");
  const replayed = await gateway.json("POST", `/webhooks/deliveries/${deliveries[0].id}/replay`);
  assert.match((await gateway.ended(replayed.turnId)).result, /"base64": "AP8K"/);
  for (const broken of ["multipart/form-data", "multipart/form-data; boundary=other"])
    assert.is(
      (await gateway.send("/hooks/any", bytes, withToken({ "content-type": broken }))).status,
      400,
      broken,
    );
});

test("in XML, the first of one element is read like the first of several", async () => {
  const stepOf = async (type: string, body: string) => {
    const { turnId } = (
      await gateway.send("/hooks/first", body, withToken({ "content-type": type }))
    ).body;
    return />>>\n[^\n]*\nStep: (\S*);/.exec((await gateway.ended(turnId)).result)?.[1];
  };
  assert.is(await stepOf("application/xml", "<build><step><id>a</id></step><step/></build>"), "a");
  assert.is(await stepOf("application/xml", "<build><step><id>b</id></step></build>"), "b");
  assert.is(await stepOf("application/xml", "<build/>"), "");
  assert.is(
    await stepOf("application/json", '{"build":{"step":{"id":"c"}}}'),
    "",
    "JSON has lists of one",
  );
});

test("XML is read as an object, and text as a string", async () => {
  const xml =
    '<?xml version="1.0"?><build id="7"><step>a &amp; b</step><step/><note lang="en">c</note></build>';
  const wanted = {
    build: { "@id": "7", step: ["a & b", ""], note: { "@lang": "en", "#text": "c" } },
  };
  for (const type of ["application/xml", "text/xml; charset=utf-8", "application/atom+xml"])
    assert.equal(await bodyOf(type, xml), wanted, type);
  assert.equal(await bodyOf("text/plain", "just words"), { text: "just words" });
  assert.equal(await bodyOf("text/csv; charset=utf-8", "a,b"), { text: "a,b" });
  const entity = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>';
  for (const broken of ["<a>", "no xml", "", entity, "<a>".repeat(300) + "</a>".repeat(300)]) {
    const response = await gateway.send(
      "/hooks/any",
      broken,
      withToken({ "content-type": "application/xml" }),
    );
    assert.is(response.status, 400, broken.slice(0, 20));
    assert.is(response.body.error.code, "invalid_request_error");
  }
  const odd = await gateway.send("/hooks/any", "x", withToken({ "content-type": "image/png" }));
  assert.is(odd.status, 415);
});

test("bodies in other encodings are decoded as the sender or the document states", async () => {
  const xml = (encoding: string) => `<?xml version="1.0" encoding="${encoding}"?><a>Grüße</a>`;
  const wide = Buffer.from(`\ufeff${xml("utf-16")}`, "utf16le");
  const rows: [type: string, body: Buffer, wanted: unknown][] = [
    ["text/plain; charset=iso-8859-1", Buffer.from("Grüße", "latin1"), { text: "Grüße" }],
    ["text/plain; charset=UTF-8", Buffer.from("\ufeffGrüße"), { text: "Grüße" }],
    [
      "text/html",
      Buffer.from("<meta charset=latin1>Grüße"),
      { text: "<meta charset=latin1>Grüße" },
    ],
    [
      "application/x-www-form-urlencoded; charset=windows-1252",
      Buffer.from("a=Grüße", "latin1"),
      { a: "Grüße" },
    ],
    [
      "application/x-www-form-urlencoded; charset=iso-8859-1",
      Buffer.from("a=Gr%FC%dfe+%26%3D%%41%2541&%FC=1&b=\xfc&b=x%2Bx&&c", "latin1"),
      { a: "Grüße &=%A%41", ü: "1", b: ["ü", "x+x"], c: "" },
    ],
    // in Shift_JIS the second half of a character may be a letter, which no sender escapes
    [
      "application/x-www-form-urlencoded; charset=shift_jis",
      Buffer.from("a=%83A%83%43"),
      { a: "アイ" },
    ],
    [
      "application/x-www-form-urlencoded; charset=utf-8",
      Buffer.from("a=Gr%C3%BC%C3%9Fe"),
      { a: "Grüße" },
    ],
    ["application/json;charset=ISO-8859-1", Buffer.from('{"a":"Grüße"}', "latin1"), { a: "Grüße" }],
    [
      "application/vnd.x+json; charset=utf-16le",
      Buffer.from('{"a":"Grüße"}', "utf16le"),
      { a: "Grüße" },
    ],
    ["application/json; charset=utf8", Buffer.from('{"a":"Grüße"}'), { a: "Grüße" }],
    ["application/xml", Buffer.from(xml("ISO-8859-1"), "latin1"), { a: "Grüße" }],
    ["text/xml; charset=iso-8859-1", Buffer.from(xml("utf-8"), "latin1"), { a: "Grüße" }],
    ["application/xml", wide, { a: "Grüße" }],
    ["application/xml", Buffer.from(xml("utf-16")), { a: "Grüße" }],
  ];
  for (const [type, body, wanted] of rows) assert.equal(await bodyOf(type, body), wanted, type);
  for (const type of [
    "text/plain",
    "text/plain; charset=utf-8",
    "application/x-www-form-urlencoded",
    "text/xml",
  ]) {
    const body = Buffer.from("<a>Grüße</a>", "latin1");
    const response = await gateway.send("/hooks/any", body, withToken({ "content-type": type }));
    assert.is(response.status, 400, type);
    assert.match(response.body.error.message, /UTF-8/);
  }
  const { deliveries } = await gateway.json(
    "GET",
    "/webhooks/deliveries?source=any&outcome=accepted&limit=20",
  );
  const { id } = deliveries.find(
    ({ headers }: Received) => headers["content-type"] === rows[0]![0],
  );
  const again = await gateway.json("POST", `/webhooks/deliveries/${id}/replay`);
  assert.match((await gateway.ended(again.turnId)).result, /"text": "Grüße"/);
});

test("a mapping's response has its own status and body", async () => {
  const response = await gateway.send("/hooks/ticket?q=now", { id: "T-1" });
  assert.is(response.status, 201, response.text);
  assert.is(response.headers.get("content-type"), "application/vnd.ticket+json");
  assert.is(response.headers.get("x-ticket"), "T-1 x-evil: 1");
  assert.is(response.headers.get("x-evil"), null);
  assert.ok(response.headers.get("ratelimit-limit"));
  const { turn, ...rest } = JSON.parse(response.text);
  assert.equal(rest, { ok: true, id: "T-1", session: "webhook:tickets:T-1", list: ["now", 7] });
  assert.match(turn, /^turn_/);
  const empty = await gateway.send("/hooks/empty", { x: 1 });
  assert.is(empty.status, 204);
  assert.is(empty.text, "");
});

test("with wait, the response has the turn's result, and a repeat receives the same", async () => {
  for (let i = 0; i < 2; i++) {
    const response = await gateway.send(
      "/hooks/asked",
      { word: "{result}" },
      withToken({ "idempotency-key": "asked" }),
    );
    assert.is(response.status, 200);
    assert.match(response.headers.get("content-type") ?? "", "text/plain");
    assert.match(response.text, /^You get: Say \[…\][\s\S]* for \{result\}$/);
  }
  const plain = await gateway.send("/hooks/waits", { word: "hello" });
  assert.match(plain.body.result, /Say hello/);
});

test("a key may use its own sessions and models, and the main token any", async () => {
  const rows: [string, Record<string, string>, number][] = [
    ["ci-token", {}, 200],
    ["ci-token", { session: "webhook:ci:1" }, 200],
    ["ci-token", { session: "webhook:shop:1" }, 403],
    ["ci-token", { session: "main" }, 403],
    ["ci-token", { model: "echo" }, 200],
    ["shop-token", { session: "shop:1", model: "echo" }, 200],
    ["shop-token", { session: "orders" }, 200],
    ["shop-token", { session: "orders2" }, 403],
    ["shop-token", { session: "webhook:shop:1" }, 403],
    ["shop-token", { model: "claude-x" }, 403],
    ["hook-token-1", { session: "anything", model: "echo" }, 200],
  ];
  for (const [token, named, status] of rows) {
    const response = await gateway.send("/hooks/agent", { message: "x", ...named }, bearer(token));
    assert.is(response.status, status, `${token} ${JSON.stringify(named)}: ${response.text}`);
    if (status === 403) assert.is(response.body.error.code, "forbidden");
  }
});

test("a key can continue the session that it received without naming one", async () => {
  const { body } = await gateway.send("/hooks/agent", { message: "x" }, bearer("ci-token"));
  assert.is(body.sessionId, `webhook:ci:${body.turnId}`);
  const next = await gateway.send(
    "/hooks/agent",
    { message: "y", session: body.sessionId },
    bearer("ci-token"),
  );
  assert.is(next.status, 200);
});

test("a wrong placeholder is an error of the configuration, with what was probably meant", async () => {
  const sample = {
    body: { issue: { title: "x", labels: [{ name: "y" }] } },
    headers: { "X-Kind": "z" },
  };
  const rows: [Record<string, unknown>, RegExp | ""][] = [
    [{ message: "{bdy.issue.title}" }, /message.*\{bdy\.issue\.title\}.*\{body\.issue\.title\}/],
    [{ message: "{payload.issue}" }, /Did you mean \{body\.issue\}/],
    [{ message: "{body..issue}" }, /\{body\.\.issue\}/],
    [{ message: "{json issue}" }, /\{json issue\}/],
    [{ message: "{header.x}" }, /Did you mean \{headers\.x\}/],
    [{ session: "webhook:{quer.x}" }, /session.*\{query\.x\}/],
    [{ respond: { body: { a: ["{bdy.x}"] } } }, /respond\.body.*\{body\.x\}/],
    [{ sample, message: "{body.isue.title}" }, /sample.*\{body\.issue\.title\}/],
    [{ sample, message: "{headers.x-knd}" }, /\{headers\.x-kind\}/],
    [
      {
        sample,
        message: "{body.issue.title} {body.issue.labels[0].name} {headers.x-kind} {other} {a.b}",
      },
      "",
    ],
  ];
  const mappings = Object.fromEntries(rows.map(([mapping], i) => [`m${i}`, mapping]));
  const other = await startGateway({ config: { webhooks: { token: "t", mappings } } });
  try {
    const { refused } = await other.json("GET", "/webhooks");
    for (const [i, [mapping, wanted]] of rows.entries()) {
      if (wanted === "") assert.is(refused[`m${i}`], undefined);
      else assert.match(refused[`m${i}`] ?? "", wanted, JSON.stringify(mapping));
    }
  } finally {
    await other.stop();
  }
});

test.run();
