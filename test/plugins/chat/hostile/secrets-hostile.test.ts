/** Upstreams that echo the key of the request: no client receives it. */
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway, removeRequestIds } from "../../../support/gateway.ts";
import {
  type Answerer,
  chunk,
  completion,
  DONE,
  data,
  json,
  startUpstream,
  stream,
  type Upstream,
} from "../../../support/upstreams/upstream.ts";

const test = suite("secrets hostile");
const key = "sk-SECRET/a1b2+c3d4==";
const header = "hdr-SECRET-e5f6g7";
const token = "tok-SECRET-gateway-1";
const aws = "aws/SECRET+h8i9j0k1";
const leaks = (text: string) =>
  [
    key,
    header,
    token,
    aws,
    "c3d4",
    "a1b2",
    "e5f6g7",
    "SECRET-gateway",
    "VDUkVUL2Ex",
    "U0VDUkVUL2Ey",
    "TRUNSRVQvYTFi",
    "LVNFQ1JFVC9hMW",
    "2f61316232",
    "2F61316232",
    "A1B2",
    "c3D4",
    "C3D4",
    "sk-secret",
    "%61%31%62",
    "u{61}",
  ].filter((secret) => removeRequestIds(text).includes(secret));
let up: Upstream;
let gateway: InProcessGateway;

test.before(async () => {
  up = await startUpstream((_, res) => json(res, completion("ok")));
  gateway = await startGateway({
    config: {
      gateway: { auth: { token } },
      channels: {
        main: {
          provider: "openai",
          baseUrl: up.url,
          apiKey: key,
          headers: { "x-auth-key": `Bearer ${header}` },
          models: ["m"],
          maxRetries: 0,
        },
        // its credentials are in the environment
        aws: { provider: "bedrock", baseUrl: up.url, models: ["claude"], maxRetries: 0 },
      },
    },
  });
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});

const hex = (text: string) =>
  Array.from(text, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
const ask = (body: object = {}) =>
  gateway.request("POST", "/v1/chat/completions", {
    model: "m",
    messages: [{ role: "user", content: "hi" }],
    ...body,
  });

const writings: Record<string, string> = {
  whole: key,
  "JSON-escaped": JSON.stringify(JSON.stringify(key)).slice(1, -1),
  "with escaped slashes": key.replaceAll("/", "\\/"),
  "in hexadecimal escapes": hex(key),
  "percent-encoded": encodeURIComponent(key),
  "percent-encoded in lower case": encodeURIComponent(key).replace(/%../g, (encoded) =>
    encoded.toLowerCase(),
  ),
  "as HTML": key.replace(/[^A-Za-z0-9-]/g, (char) => `&#x${char.charCodeAt(0).toString(16)};`),
  "as decimal HTML": key.replace(/[^A-Za-z0-9-]/g, (char) => `&#${char.charCodeAt(0)};`),
  "in hexadecimal bytes": Array.from(key, (char) => `\\\\x${char.charCodeAt(0).toString(16)}`).join(
    "",
  ),
  "in base64": Buffer.from(key).toString("base64"),
  "in base64 behind a user's name": Buffer.from(`me:${key}`).toString("base64"),
  "in base64 for addresses": Buffer.from(`user:${key}`).toString("base64url"),
  "in base64 of JSON": Buffer.from(JSON.stringify({ key })).toString("base64"),
  "in escapes with braces": Array.from(
    key,
    (char) => `\\\\u{${char.charCodeAt(0).toString(16)}}`,
  ).join(""),
  "in names of HTML": key
    .replaceAll("/", "&sol;")
    .replaceAll("+", "&plus;")
    .replaceAll("=", "&equals;"),
  "in hexadecimal": Buffer.from(key).toString("hex"),
  "in hexadecimal of the other case": Buffer.from(key).toString("hex").toUpperCase(),
  "in capitals": key.toUpperCase(),
  "in small letters": key.toLowerCase(),
  "in every character's percent": Array.from(
    key,
    (char) => `%${char.charCodeAt(0).toString(16)}`,
  ).join(""),
  "of a header": `the header was Bearer ${header}`,
  "of the gateway": token,
};

for (const [name, written] of Object.entries(writings)) {
  test(`an error with a secret ${name}`, async () => {
    for (const status of [400, 401, 403, 500]) {
      for (const body of [
        `{"error":{"message":"Bad key ${written.replaceAll('"', '\\"')}","code":"c ${written}","param":"${written}","type":"${written}"}}`,
        `Bad key ${written}`,
        `{"detail":[{"loc":["x"],"msg":"${written}"}]}`,
      ]) {
        up.answer = (_, res) => {
          res.writeHead(status, {
            "content-type": "application/json",
            "x-echo": key,
            "retry-after": "0",
          });
          res.end(body);
        };
        const response = await ask({ stream: status % 2 === 0 });
        const text = (await response.text()) + JSON.stringify([...response.headers]);
        assert.ok(response.status >= 400, text);
        assert.equal(leaks(text), [], `${status} ${body}: ${text}`);
      }
    }
    const channels = await (await gateway.request("GET", "/channels")).text();
    assert.equal(leaks(channels), [], channels);
    const tested = await (await gateway.request("POST", "/channels/main/test", {})).text();
    assert.equal(leaks(tested), [], tested);
    assert.equal(leaks(JSON.stringify(gateway.lines)), []);
  });
}

/** The key in pieces that are no secret by themselves: `at` in the first and the second. */
const half = Math.floor(key.length / 2);
const pieces = [key.slice(0, half), key.slice(half)] as const;
const single = Array.from(key);
const delta = (content: string) => ({
  id: "x",
  choices: [{ index: 0, delta: { role: "assistant", content } }],
});
const spread: Record<string, string> = {
  "in a stream's deltas": single.map((char) => data(delta(char))).join(""),
  "in a stream's deltas, before its error": `${single.map((char) => data(delta(char))).join("")}${data({ error: { message: "no" } })}`,
  "in a stream of two events": pieces.map((text) => data(delta(text))).join(""),
  "in named events": pieces
    .map((text) => `event: message\ndata: ${JSON.stringify({ text })}\n\n`)
    .join(""),
  "in lines of JSON": pieces.map((text) => `${JSON.stringify({ response: text })}\n`).join(""),
  "in a list of texts": JSON.stringify({ error: { message: pieces } }),
  "in a list of details": JSON.stringify({ detail: pieces.map((msg) => ({ loc: ["x"], msg })) }),
  "in three fields": JSON.stringify({ error: { message: pieces[0], code: pieces[1], type: "x" } }),
  "in JSON that is cut off": `{"error":{"note":"${pieces[0]}","message":"${pieces[1]}`,
  "in many layers": `{"error":{"message":${"[".repeat(100_000)}"${key}"${"]".repeat(100_000)}}}`,
  "over lines": `${single.join("\n")}`,
  "over words": `the key ${single.join(" ")} is wrong`,
  "over literals of a program": `key = "${pieces[0]}" + "${pieces[1]}"`,
  "where the text is cut": `${"x ".repeat(250).slice(0, 500 - half)}${key}`,
  "where a list is cut": JSON.stringify({ error: { message: ["x".repeat(496 - half), key] } }),
  "where the body is cut": `${" ".repeat(64 * 1024 - half)}${key}`,
  "where the body is cut off": `${" ".repeat(1024 * 1024 - half)}${key}`,
};
for (const [name, body] of Object.entries(spread)) {
  test(`an error with the key ${name}`, async () => {
    for (const type of ["application/json", "text/event-stream", "text/plain"]) {
      for (const [path, more] of [
        ["/v1/chat/completions", {}],
        ["/v1/chat/completions", { stream: true }],
        ["/v1/messages", { max_tokens: 9 }],
        ["/v1/responses", { input: "hi", messages: undefined }],
        ["/v1/audio/speech", { input: "x", voice: "v", messages: undefined }],
      ] as const) {
        up.answer = (_, res) => res.writeHead(400, { "content-type": type }).end(body);
        const response = await gateway.request("POST", path, {
          model: "m",
          messages: [{ role: "user", content: "hi" }],
          ...more,
        });
        const text = await response.text();
        assert.is(response.status, 400, text);
        // neither half of it, and not all of its characters one by one
        const parsedText = JSON.stringify(JSON.parse(text));
        for (const piece of pieces)
          assert.not.ok(parsedText.includes(JSON.stringify(piece).slice(1, -1)), parsedText);
        assert.not.ok(parsedText.replace(/[^A-Za-z0-9/]/g, "").includes("SECRET/a1b2"), parsedText);
      }
    }
    assert.equal(leaks(JSON.stringify(gateway.lines)), []);
  });
}

test("an error in a stream or in JSON lines keeps its reason", async () => {
  for (const body of [
    data({ error: { message: "Why not", code: "odd" } }),
    `: a comment\n\nevent: error\n${data({ type: "error", error: { message: "Why not" } })}`,
    `${JSON.stringify({ error: "Why not" })}\n`,
    "Why not",
    JSON.stringify({ reason: "Why not" }),
  ]) {
    up.answer = (_, res) => res.writeHead(400, { "content-type": "text/event-stream" }).end(body);
    assert.match(await (await ask()).text(), "Why not", body);
  }
});

const basic = Buffer.from(`me:${key}`).toString("base64");
const forUrls = Buffer.from(`user:${key}`).toString("base64url");
const contents: Record<string, Answerer> = {
  "a completion": (_, res) => json(res, completion(`Your key is ${key}.`)),
  "a completion in escapes": (_, res) => {
    res.writeHead(200, { "content-type": "application/json" });
    res.end(JSON.stringify(completion("KEY")).replace("KEY", hex(key)));
  },
  "a stream": (_, res) =>
    stream(
      res,
      chunk({ role: "assistant", content: "" }),
      chunk({ content: key }),
      chunk({}, "stop"),
      DONE,
    ),
  "a stream of pieces": (_, res) =>
    stream(
      res,
      ...Array.from(`key ${key}!`, (char) => chunk({ content: char })),
      chunk({}, "stop"),
      DONE,
    ),
  "a completion in base64": (_, res) => json(res, completion(`Basic ${basic} ${forUrls}`)),
  "a stream in base64": (_, res) =>
    stream(res, ...[basic, forUrls].map((content) => chunk({ content })), chunk({}, "stop"), DONE),
  "a stream of pieces in base64": (_, res) =>
    stream(
      res,
      ...Array.from(`Basic ${basic} ${forUrls}`, (content) => chunk({ content })),
      chunk({}, "stop"),
      DONE,
    ),
  "an error in a stream": (_, res) =>
    stream(res, chunk({ content: "x" }), data({ error: { message: `no ${key}` } })),
};
for (const [name, answerer] of Object.entries(contents)) {
  test(`${name} with the key`, async () => {
    up.answer = answerer;
    const text = await (await ask({ stream: name.includes("stream") })).text();
    assert.ok(text.includes("********"), text);
    assert.equal(leaks(text), [], text);
    const other = await gateway.request("POST", "/v1/messages", {
      model: "m",
      max_tokens: 9,
      stream: name.includes("stream"),
      messages: [{ role: "user", content: "hi" }],
    });
    assert.equal(leaks(await other.text()), []);
  });
}

test("credentials from the environment are masked in errors and in the model's texts", async () => {
  const savedEnvironment = { ...process.env };
  Object.assign(process.env, {
    AWS_ACCESS_KEY_ID: "AKIA1",
    AWS_SECRET_ACCESS_KEY: aws,
    AWS_SESSION_TOKEN: `${aws}-2`,
  });
  try {
    const upstreamBody = {
      output: { message: { content: [{ text: `it is ${aws}-2` }] } },
      stopReason: "end_turn",
    };
    for (const [status, body] of [
      [400, { message: `The secret ${aws} is wrong.` }],
      [403, { message: aws, __type: aws }],
      [200, upstreamBody],
    ] as const) {
      up.answer = (_, res) => json(res, body, status);
      const text = await (await ask({ model: "aws/claude" })).text();
      assert.ok(text.includes("********"), text);
      assert.equal(leaks(text), [], text);
    }
    assert.equal(leaks(await (await gateway.request("GET", "/channels")).text()), []);
  } finally {
    for (const name of ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"]) {
      if (savedEnvironment[name] === undefined) delete process.env[name];
      else process.env[name] = savedEnvironment[name];
    }
  }
});

test("the further routes mask keys in bodies of any type and size, headers and streams", async () => {
  const routes: [string, object][] = [
    ["/v1/completions", { prompt: "x" }],
    ["/v1/images/generations", { prompt: "x" }],
    ["/v1/audio/speech", { input: "x", voice: "v" }],
    ["/v1/moderations", { input: "x" }],
    ["/v1/rerank", { query: "x", documents: ["y"] }],
  ];
  const types = [
    "application/json",
    "text/plain",
    "application/x-subrip",
    "audio/mpeg",
    `text/x; name="${key}"`,
  ];
  for (const [path, body] of routes) {
    for (const type of types) {
      const text = type === "application/json" ? JSON.stringify({ note: key }) : `key ${key}!`;
      up.answer = (_, res) => {
        const disposition = `attachment; filename="${key}"`;
        res.writeHead(200, {
          "content-type": type,
          "content-disposition": disposition,
          "content-length": text.length,
        });
        for (const char of text) res.write(char);
        res.end();
      };
      const response = await gateway.request("POST", path, { model: "main/m", ...body });
      const all = (await response.text()) + JSON.stringify([...response.headers]);
      assert.is(response.status, 200, all);
      assert.ok(all.includes("********"), all);
      assert.equal(leaks(all), [], `${path} ${type}: ${all}`);
    }
  }
  up.answer = (_, res) => {
    res.writeHead(200, { "content-type": "text/plain" });
    res.end(`${"x".repeat(1_500_000)}${key}`);
  };
  const large = await gateway.request("POST", "/v1/audio/speech", {
    model: "main/m",
    input: "x",
    voice: "v",
  });
  assert.equal(leaks(await large.text()), []);
});

test.run();
