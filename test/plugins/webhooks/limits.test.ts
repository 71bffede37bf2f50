/** The limits of a webhook's body in every accepted form, compressed or not. */
import { gzipSync } from "node:zlib";
import * as assert from "uvu/assert";
import { suite } from "../../support/suite.ts";
import { type Receiver, startReceiver, TOKEN } from "./sender.ts";

const test = suite("limits of webhook bodies");
let gateway: Receiver;

const LIMITS = { maxValues: 40, maxMembers: 10, maxDepth: 6 };
const JSON_TYPE = "application/json";
const FORM = "application/x-www-form-urlencoded";
const MULTIPART = "multipart/form-data; boundary=b";
const XML = "application/xml";

test.before(async () => {
  gateway = await startReceiver(
    { mappings: { any: { message: "{json body}" } } },
    { config: { gateway: { http: LIMITS } } },
  );
});
test.after(() => gateway.stop());

const fields = (count: number) => Array.from({ length: count }, (_, i) => `k${i}=1`).join("&");
const parts = (count: number) =>
  `${Array.from(
    { length: count },
    (_, i) => `--b\r\nContent-Disposition: form-data; name="k${i}"\r\n\r\n1\r\n`,
  ).join("")}--b--\r\n`;
const members = (count: number) =>
  `{${Array.from({ length: count }, (_, i) => `"k${i}":1`).join()}}`;
const deep = (count: number) => "[".repeat(count) + "]".repeat(count);
const inPart = (value: string) =>
  `--b\r\nContent-Disposition: form-data; name="payload"\r\n\r\n${value}\r\n--b--\r\n`;
const elements = (count: number) => `<r>${"<a/>".repeat(count)}</r>`;
const attributes = (count: number) =>
  `<r ${Array.from({ length: count }, (_, i) => `k${i}="1"`).join(" ")}/>`;
const children = (count: number) =>
  `<r>${Array.from({ length: count }, (_, i) => `<k${i}/>`).join("")}</r>`;
const nested = (count: number) => "<a>".repeat(count) + "</a>".repeat(count);

const rows: [type: string, fits: string, breaks: string, limit: keyof typeof LIMITS][] = [
  [JSON_TYPE, `[${"1,".repeat(38)}1]`, `[${"1,".repeat(39)}1]`, "maxValues"],
  [JSON_TYPE, members(10), members(11), "maxMembers"],
  [JSON_TYPE, deep(6), deep(7), "maxDepth"],
  [`${JSON_TYPE}; charset=latin1`, members(10), members(11), "maxMembers"],
  ["application/cloudevents+json", deep(6), deep(7), "maxDepth"],
  [FORM, fields(10), fields(11), "maxMembers"],
  [FORM, "a=1&".repeat(9), "a=1&".repeat(10), "maxMembers"],
  [FORM, "&".repeat(9), "&".repeat(10), "maxMembers"],
  [`${FORM}; charset=latin1`, fields(10), fields(11), "maxMembers"],
  [FORM, `payload=${deep(6)}`, `payload=${deep(7)}`, "maxDepth"],
  [
    FORM,
    `payload=${encodeURIComponent(members(10))}`,
    `payload=${encodeURIComponent(members(11))}`,
    "maxMembers",
  ],
  [MULTIPART, parts(10), parts(11), "maxMembers"],
  [MULTIPART, inPart(members(10)), inPart(members(11)), "maxMembers"],
  [MULTIPART, inPart(deep(6)), inPart(deep(7)), "maxDepth"],
  [XML, elements(39), elements(40), "maxValues"],
  [XML, attributes(10), attributes(11), "maxMembers"],
  [XML, children(10), children(11), "maxMembers"],
  [XML, nested(6), nested(7), "maxDepth"],
  ["text/xml", nested(6), nested(7), "maxDepth"],
  ["image/svg+xml", elements(39), elements(40), "maxValues"],
];

for (const [type, fits, breaks, limit] of rows) {
  test(`${type}: ${limit} holds, exactly (${breaks.slice(0, 24)})`, async () => {
    const send = (body: string | Buffer, headers: Record<string, string> = {}) =>
      gateway.send("/hooks/any", body, {
        authorization: `Bearer ${TOKEN}`,
        "content-type": type,
        ...headers,
      });
    assert.is((await send(fits)).status, 200, fits);
    for (const response of [
      await send(breaks),
      await send(gzipSync(breaks), { "content-encoding": "gzip" }),
    ]) {
      assert.is(response.status, 400, breaks);
      assert.is(response.body.error.code, "invalid_request_error");
      assert.match(response.body.error.message, `gateway.http.${limit}`);
    }
    const compressed = await send(gzipSync(fits), { "content-encoding": "gzip" });
    assert.is(compressed.status, 200);
  });
}

test("wake and agent have the same limits, and so do requests to the prefix", async () => {
  for (const [path, member] of [
    ["/hooks/wake", '"text":"x"'],
    ["/hooks/agent", '"message":"x"'],
    ["/hooks", '"x":1'],
  ] as const) {
    const response = await gateway.send(path, `{${member},"metadata":${deep(7)}}`);
    assert.is(response.status, 400, path);
    assert.match(response.body.error.message, "gateway.http.maxDepth");
  }
});

test("a Stripe event is not read for its id before it was counted", async () => {
  const response = await gateway.send("/hooks/any", `{"id":"evt_1","data":${deep(7)}}`, {
    authorization: `Bearer ${TOKEN}`,
    "stripe-signature": "t=1,v1=x",
  });
  assert.is(response.status, 400);
});

test("the head of a form's part is bounded", async () => {
  const head = `Content-Disposition: form-data; name="a"; x="${"y".repeat(20_000)}"`;
  const response = await gateway.send("/hooks/any", `--b\r\n${head}\r\n\r\n1\r\n--b--\r\n`, {
    authorization: `Bearer ${TOKEN}`,
    "content-type": MULTIPART,
  });
  assert.is(response.status, 400);
  assert.is(response.body.error.code, "invalid_request_error");
});

test("a compressed body is decoded within the limit in bytes, and logged as what it holds", async () => {
  const headers = { authorization: `Bearer ${TOKEN}`, "content-encoding": "gzip" };
  const bomb = gzipSync(JSON.stringify("x".repeat(3_000_000)));
  const large = await gateway.send("/hooks/any", bomb, headers);
  assert.is(large.status, 413);
  const { status } = await gateway.send("/hooks/any", gzipSync('{"sender":"zipped"}'), headers);
  assert.is(status, 200);
  const { deliveries } = await gateway.json("GET", "/webhooks/deliveries?limit=1");
  const delivery = await gateway.json("GET", `/webhooks/deliveries/${deliveries[0].id}`);
  assert.match(JSON.stringify(delivery.payload), "zipped");
});

test.run();
