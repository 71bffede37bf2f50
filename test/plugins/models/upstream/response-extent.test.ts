/** Whole responses are limited in size, after decompression and wherever they are read. */
import { gzipSync } from "node:zlib";
import * as assert from "uvu/assert";
import {
  limitsOfVectors,
  ResponseExtent,
} from "../../../../plugins/models/upstream/response-extent.ts";
import { startGateway } from "../../../support/gateway.ts";
import { test } from "../../../support/suite.ts";
import { completion, json, startUpstream } from "../../../support/upstreams/upstream.ts";

const LIMITS = { bytes: 100, values: 5 };

function excessOf(parts: string[], limits = LIMITS): string | undefined {
  const extent = new ResponseExtent(limits);
  for (const part of parts) extent.push(Buffer.from(part));
  return extent.excess;
}

test("objects, lists, members and items are counted, and the contents of strings are not, regardless of the chunks", () => {
  const texts: [string, boolean][] = [
    ['{"a":[1,2,3]}', false],
    ['{"a":[1,2,3,4,5]}', true],
    ["[{},{},{},{}]", true],
    ['{"a":"[[[[[[{{{{,,,,,,"}', false],
    ['{"a":"\\"[[[[[[,,,,","b":1}', false],
    ['{"a":"\\\\","b":[1,2,3,4]}', true],
    ['{"a":"\\\\\\"[[[[[,,,"}', false],
    ['{"a":"\\\\\\\\",",,,,,":"\\\\"}', false],
  ];
  for (const [text, isTooMuch] of texts)
    for (let cut = 0; cut <= text.length; cut++)
      for (let end = cut; end <= text.length; end++)
        assert.is(
          excessOf([text.slice(0, cut), text.slice(cut, end), text.slice(end)]) !== undefined,
          isTooMuch,
          `${text} cut at ${cut} and ${end}`,
        );
  assert.is(excessOf(["x".repeat(60), "x".repeat(40)]), undefined);
  assert.is(
    excessOf(["x".repeat(60), "x".repeat(41)], { ...LIMITS, bytes: 100 }),
    "is larger than 0 MiB",
  );
});

test("as many vectors as a request asks for fit, each number on a line of its own", () => {
  const vectors = 2;
  const number = `${" ".repeat(12)}-0.0123456,\n`.slice(-24);
  const vector = `{"embedding":[${number.repeat(8191)}1]},`;
  const extent = new ResponseExtent({ bytes: 0, values: 0 });
  assert.type(extent.excess, "undefined");
  const { bytes, values } = limitsOfVectors(vectors);
  const none = limitsOfVectors(0);
  const room = { bytes: bytes - none.bytes + 100, values: values - none.values + 10 };
  assert.is(excessOf([vector.repeat(vectors)], room), undefined);
  assert.type(excessOf([vector.repeat(vectors + 1)], room), "string");
});

const large = gzipSync(
  `{"id":"x","choices":[{"message":{"content":"${"a".repeat(65 * 1024 * 1024)}"}}]}`,
);
const wide = gzipSync(`{"id":"x","choices":[${"{},".repeat(200_001)}{}]}`);

test("a response that decompresses to too much is an upstream error, reported with the channel, and causes a fallback", async () => {
  const up = await startUpstream((_, res) => json(res, completion("Hello")), { models: ["gpt-x"] });
  const good = await startUpstream((_, res) => json(res, completion("Hello")), { models: [] });
  const gateway = await startGateway({
    config: {
      channels: {
        bad: { provider: "openai", baseUrl: up.url, maxRetries: 2 },
        google: { provider: "gemini", baseUrl: up.url.replace("/v1", ""), maxRetries: 2 },
        mist: { provider: "mistral", baseUrl: up.url.replace("/v1", ""), maxRetries: 2 },
        good: { provider: "openai", baseUrl: good.url },
      },
      models: { both: { targets: ["bad/x", "good/x"], strategy: "fallback" } },
    },
  });
  const sending = (packed: Buffer) => {
    up.answer = (_, res) =>
      void res
        .writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" })
        .end(packed);
  };
  try {
    const messages = [{ role: "user", content: "hi" }];
    const cases: [string, object, Buffer, string][] = [
      ["/v1/chat/completions", { model: "google/x", messages }, large, "larger than 64 MiB"],
      ["/v1/chat/completions", { model: "bad/x", messages }, wide, "more than 200000 values"],
      [
        "/v1/chat/completions",
        { model: "bad/y", messages, stream: true },
        wide,
        "more than 200000 values",
      ],
      ["/v1/responses", { model: "bad/z", input: "hi" }, wide, "more than 200000 values"],
      ["/v1/embeddings", { model: "bad/e", input: "hi" }, wide, "more than 208192 values"],
      ["/v1/completions", { model: "mist/i", prompt: "hi" }, wide, "more than 200000 values"],
    ];
    const wider = gzipSync(`{"id":"x","choices":[${"{},".repeat(210_000)}{}]}`);
    for (const [path, body, packed, why] of cases) {
      sending(packed === wide && path === "/v1/embeddings" ? wider : packed);
      up.seen.length = 0;
      const response = await gateway.request("POST", path, body);
      assert.is(response.status, 502, path);
      const { code, message } = (
        (await response.json()) as { error: { code: string; message: string } }
      ).error;
      assert.is(code, "upstream_error", path);
      assert.match(
        message,
        new RegExp(`channel \`${(body as { model: string }).model.split("/")[0]}\``),
        path,
      );
      assert.ok(message.includes(why), `${path}: ${message}`);
      assert.is(up.seen.length, 1, `${path}: asking again is in vain`);
    }
    sending(large);
    const image = await gateway.request("POST", "/v1/images/generations", {
      model: "google/i",
      prompt: "hi",
    });
    assert.is(image.status, 200, "what goes on as it comes need not be held");
    assert.ok((await image.arrayBuffer()).byteLength > 65 * 1024 * 1024);
    sending(wide);
    const { status, headers } = await gateway.request("POST", "/v1/chat/completions", {
      model: "both",
      messages,
      stream: true,
    });
    assert.equal([status, headers.get("x-portico-channel")], [200, "good"]);
  } finally {
    await gateway.stop();
    await up.close();
    await good.close();
  }
});

test.run();
