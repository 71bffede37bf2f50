/** Senders' signatures: published examples pass, and fail when one byte of anything changes. */
import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { createVerifier, type SignedRequest } from "../../../plugins/webhooks/intake/signatures.ts";
import type { VerifyConfig } from "../../../plugins/webhooks/schema.ts";

interface Example {
  name: string;
  verify: VerifyConfig;
  headers: Record<string, string>;
  body: string;
  now: number;
  /** Headers of which every byte counts. */
  signed: string[];
  /** The body is not covered (a plain token). */
  open?: true;
}

const hmac = (secret: string | Buffer, text: string, form: "hex" | "base64" = "hex") =>
  createHmac("sha256", secret).update(text).digest(form);

const at = 1_614_265_330;
const invoice =
  '{"id":"evt_1NG8Du2eZvKYlo2CUI79vXWy","object":"event","type":"invoice.paid","data":{"object":{"total":2000}}}';
const linearBody = `{"action":"update","type":"Issue","data":{"title":"Größe"},"webhookTimestamp":${at * 1000}}`;
const standardKey = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

const examples: Example[] = [
  {
    // from GitHub's page on validating deliveries
    name: "github",
    verify: { scheme: "github", secret: "It's a Secret to Everybody" },
    headers: {
      "x-hub-signature-256":
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
    },
    body: "Hello, World!",
    now: at * 1000,
    signed: ["x-hub-signature-256"],
  },
  {
    // from Slack's page on verifying requests
    name: "slack",
    verify: { scheme: "slack", secret: "8f742231b10e8888abcd99yyyzzz85a5" },
    headers: {
      "x-slack-request-timestamp": "1531420618",
      "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
    },
    body: "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
    now: 1_531_420_618_000,
    signed: ["x-slack-request-timestamp", "x-slack-signature"],
  },
  {
    // from the Standard Webhooks libraries
    name: "standard",
    verify: { scheme: "standard", secret: `whsec_${standardKey}` },
    headers: {
      "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
      "webhook-timestamp": String(at),
      "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    },
    body: '{"test": 2432232314}',
    now: at * 1000,
    signed: ["webhook-id", "webhook-timestamp"],
  },
  {
    name: "gitlab with a signing token",
    verify: { scheme: "gitlab", secret: `whsec_${standardKey}` },
    headers: {
      "webhook-id": "0192f3a4",
      "webhook-timestamp": String(at),
      "webhook-signature": `v1,${hmac(Buffer.from(standardKey, "base64"), `0192f3a4.${at}.{"object_kind":"push"}`, "base64")}`,
    },
    body: '{"object_kind":"push"}',
    now: at * 1000,
    signed: ["webhook-id", "webhook-timestamp"],
  },
  {
    name: "gitlab with a secret token",
    verify: { scheme: "gitlab", secret: "glwh-8d2f0c" },
    headers: { "x-gitlab-token": "glwh-8d2f0c" },
    body: '{"object_kind":"push"}',
    now: at * 1000,
    signed: ["x-gitlab-token"],
    open: true,
  },
  {
    name: "gitlab with a secret token beyond ASCII",
    verify: { scheme: "gitlab", secret: "clé-à-日本" },
    headers: { "x-gitlab-token": Buffer.from("clé-à-日本").toString("latin1") },
    body: '{"object_kind":"push"}',
    now: at * 1000,
    signed: ["x-gitlab-token"],
    open: true,
  },
  {
    name: "stripe",
    verify: { scheme: "stripe", secret: "whsec_5f0c" },
    headers: { "stripe-signature": `t=${at},v1=${hmac("whsec_5f0c", `${at}.${invoice}`)},v0=00` },
    body: invoice,
    now: at * 1000,
    signed: [],
  },
  {
    name: "linear",
    verify: { scheme: "linear", secret: "lin_wh_1" },
    headers: { "linear-signature": hmac("lin_wh_1", linearBody) },
    body: linearBody,
    now: at * 1000,
    signed: ["linear-signature"],
  },
  {
    name: "shopify",
    verify: { scheme: "shopify", secret: "shpss_1" },
    headers: { "x-shopify-hmac-sha256": hmac("shpss_1", '{"id":820982911946154508}', "base64") },
    body: '{"id":820982911946154508}',
    now: at * 1000,
    signed: [],
  },
  {
    name: "any HMAC",
    verify: {
      hmac: { header: "X-Signature", algorithm: "sha512", encoding: "base64", prefix: "sha512=" },
      secret: "s",
    },
    headers: {
      "x-signature": `sha512=${createHmac("sha512", "s").update("a,b").digest("base64")}`,
    },
    body: "a,b",
    now: at * 1000,
    signed: [],
  },
];

const signedOf = ({ headers, body, now }: Example): SignedRequest => ({
  headers,
  body: Buffer.from(body),
  now,
});
const problem = (example: Example, change: Partial<SignedRequest> = {}, verify = example.verify) =>
  createVerifier(verify, "verify").problem({ ...signedOf(example), ...change });

/** The text with one character changed. */
const bent = (text: string, i: number) =>
  text.slice(0, i) + (text[i] === "1" ? "2" : "1") + text.slice(i + 1);

for (const example of examples) {
  test(`${example.name}: a good one passes`, () => {
    assert.is(problem(example), undefined);
  });

  test(`${example.name}: any changed byte fails`, () => {
    if (!example.open) {
      const body = Buffer.from(example.body);
      for (let i = 0; i < body.length; i++) {
        const changed = Buffer.from(body);
        changed[i] = (changed[i] as number) ^ 1;
        assert.ok(problem(example, { body: changed }), `byte ${i} of the body`);
      }
      assert.ok(
        problem(example, { body: Buffer.concat([body, Buffer.from("\n")]) }),
        "a byte more",
      );
    }
    for (const name of example.signed) {
      const value = example.headers[name] as string;
      for (let i = 0; i < value.length; i++) {
        assert.ok(
          problem(example, { headers: { ...example.headers, [name]: bent(value, i) } }),
          `${name}[${i}]`,
        );
      }
    }
  });

  test(`${example.name}: without its headers it fails`, () => {
    for (const name of Object.keys(example.headers)) {
      const { [name]: _gone, ...headers } = example.headers;
      assert.ok(problem(example, { headers }), name);
    }
  });

  test(`${example.name}: another secret fails, the second of two passes`, () => {
    const other = "whsec_AAAAAAAAAAAAAAAAAAAAAAAA";
    const withSecret = (secret: string | string[]): VerifyConfig => ({ ...example.verify, secret });
    const own = example.verify.secret as string;
    assert.ok(problem(example, {}, withSecret(other)));
    assert.is(problem(example, {}, withSecret([other, own])), undefined);
    assert.is(problem(example, {}, withSecret([own, other])), undefined);
  });
}

for (const name of ["slack", "standard", "stripe", "gitlab with a signing token", "linear"]) {
  test(`${name}: late and early deliveries are refused`, () => {
    const example = examples.find((example) => example.name === name) as Example;
    for (const seconds of [-3600, -301, 301, 3600]) {
      assert.match(
        problem(example, { now: example.now + seconds * 1000 }) ?? "",
        /time/,
        `${seconds} s`,
      );
    }
    assert.is(problem(example, { now: example.now + 30_000 }), undefined);
  });
}

test("Standard Webhooks takes one good signature among several", () => {
  const example = examples.find(({ name }) => name === "standard") as Example;
  const good = example.headers["webhook-signature"] as string;
  const headers = {
    ...example.headers,
    "webhook-signature": `v1,AAAA v2,${good.slice(3)} ${good}`,
  };
  assert.is(problem(example, { headers }), undefined);
  assert.ok(
    problem(example, {
      headers: { ...headers, "webhook-signature": `v2,${good.slice(3)} v1,AAAA` },
    }),
  );
});

test("Standard Webhooks takes Ed25519 signatures", () => {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const raw = publicKey.export({ format: "der", type: "spki" }).subarray(-32);
  const body = Buffer.from('{"a":1}');
  const signature = sign(null, Buffer.from(`msg_1.${at}.${body}`), privateKey).toString("base64");
  const verifier = createVerifier(
    { scheme: "standard", secret: `whpk_${raw.toString("base64")}` },
    "verify",
  );
  const headers = {
    "webhook-id": "msg_1",
    "webhook-timestamp": String(at),
    "webhook-signature": `v1a,${signature}`,
  };
  assert.is(verifier.problem({ headers, body, now: at * 1000 }), undefined);
  assert.ok(verifier.problem({ headers, body: Buffer.from('{"a":2}'), now: at * 1000 }));
});

test("settings that cannot check anything are refused with the key's name", () => {
  assert.throws(
    () => createVerifier({ scheme: "github" }, "webhooks.mappings.gh.verify"),
    /gh\.verify\.secret/,
  );
  assert.throws(
    () => createVerifier({ secret: "x" }, "webhooks.mappings.gh.verify"),
    /gh\.verify\.scheme/,
  );
  assert.throws(
    () =>
      createVerifier(
        {
          scheme: "github",
          hmac: { header: "x", algorithm: "sha1", encoding: "hex" },
          secret: "x",
        },
        "v",
      ),
    /v\.scheme/,
  );
});

test.run();
