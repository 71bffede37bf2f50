/** Upstreams that send white space before their response: some do while they compute, possibly forever. */
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { assertLinearAsync } from "../../../support/growth.ts";
import { type InProcessGateway, startGateway } from "../../../support/gateway.ts";
import {
  completion,
  contentOf,
  hello,
  startUpstream,
  type Upstream,
} from "../../../support/upstreams/upstream.ts";

const test = suite("blank hostile");
let up: Upstream;
let gateway: InProcessGateway;

test.before(async () => {
  up = await startUpstream((_, res) => res.end());
  const root = up.url.replace("/v1", "");
  const to = { apiKey: "sk-key-of-the-test", models: ["m"], maxRetries: 0 };
  gateway = await startGateway({
    config: {
      channels: {
        main: { provider: "openai", baseUrl: up.url, ...to },
        claude: { provider: "anthropic", baseUrl: root, ...to },
        google: { provider: "gemini", baseUrl: root, ...to },
        local: { provider: "ollama", baseUrl: root, ...to },
      },
    },
  });
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});

const ask = (model = "main/m") =>
  gateway.request("POST", "/v1/chat/completions", {
    model,
    messages: [{ role: "user", content: "hi" }],
    stream: true,
  });
/** Each part is a read of its own. */
function send(parts: readonly (string | Buffer)[], type = "text/event-stream"): void {
  up.answer = async (_, res) => {
    res.writeHead(200, { "content-type": type });
    for (const part of parts) {
      res.write(part);
      await new Promise((resolve) => setImmediate(resolve));
    }
    res.end();
  };
}

test("leading white space, even in pieces, is removed from a stream and from a whole response", async () => {
  const mark = Buffer.from([0xef, 0xbb, 0xbf]);
  const whole = JSON.stringify(completion("Hello"));
  for (const before of [
    ["\n", "\n\n"],
    [" ".repeat(5000), "\r\n", " \n"],
    [mark, "\n", "\n"],
    [mark],
    ["\t\n".repeat(99)],
  ]) {
    send([...before, hello.join("")]);
    const text = await (await ask()).text();
    assert.is(contentOf(text), "Hello", JSON.stringify(before));
    for (const type of ["text/event-stream", "application/json"]) {
      send([...before, whole.slice(0, 9), whole.slice(9)], type);
      assert.is(contentOf(await (await ask()).text()), "Hello", JSON.stringify(before));
    }
  }
});

test("a body of white space is not a response, and the time to read it is proportional to its size", async () => {
  const block = Buffer.alloc(16 * 1024, " ");
  await assertLinearAsync(
    "white space before a stream",
    32,
    (blocks) => blocks,
    async (blocks) => {
      send(Array.from({ length: blocks }, () => block));
      const response = await ask();
      assert.is(response.status, 502, await response.text());
    },
  );
});

for (const name of ["main", "claude", "google", "local"]) {
  test(`an event without an end is abandoned and not buffered: ${name}`, async () => {
    const block = Buffer.alloc(1024 * 1024, "x");
    const blocks = 100;

    up.answer = async (_, res) => {
      res.writeHead(200, {
        "content-type": name === "local" ? "application/x-ndjson" : "text/event-stream",
      });
      res.write("data: ");
      for (let sent = 0; sent < blocks && !res.destroyed; sent++)
        await new Promise((resolve) => res.write(block, resolve));
      res.end();
    };
    const response = await ask(`${name}/m`);
    assert.is(response.status, 502);
    assert.match(await response.text(), "one event of more than 16777216 bytes");
  });
}

test.run();
