/** The modules that read what comes from outside: none takes longer than in line with its input's size. */
import { createHmac } from "node:crypto";
import * as assert from "uvu/assert";
import { readForm } from "../../../plugins/webhooks/bodies/forms.ts";
import { readXml } from "../../../plugins/webhooks/bodies/xml.ts";
import { createVerifier } from "../../../plugins/webhooks/intake/signatures.ts";
import { lookUp, readPath } from "../../../plugins/webhooks/mappings/paths.ts";
import { readTemplate } from "../../../plugins/webhooks/mappings/template.ts";
import { maskPayload } from "../../../plugins/webhooks/mask.ts";
import type { VerifyConfig } from "../../../plugins/webhooks/schema.ts";
import { assertLinear } from "../../support/growth.ts";
import { test } from "../../support/suite.ts";

test("reading external input takes time in proportion to its size", () => {
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

test.run();
