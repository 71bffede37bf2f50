import { connect } from "node:net";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { PorticoError } from "../../../kernel/index.ts";
import { readImage } from "../../../plugins/provider-kit/request/images.ts";
import { portico, porticoHere } from "../../support/portico.ts";
import { until } from "../../support/until.ts";
import {
  completion,
  hello,
  json,
  startUpstream,
  stream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";

const test = suite("limits");
let up: Upstream;
let gateway: InProcessGateway;
const looker = `
import { definePlugin } from "portico";
export default definePlugin({
  name: "looker",
  setup(ctx) {
    ctx.add("provider", {
      name: "looker",
      async complete(request, target) {
        const { mediaType, data } = await target.fetchImage(request.messages[0].content[0].image_url.url);
        target.dropped.push("temperature");
        return mediaType + " " + data.length;
      },
    });
  },
});
`;

test.before(async () => {
  up = await startUpstream((request, res) =>
    request.body.stream ? stream(res, ...hello) : json(res, completion("Hello")),
  );
  gateway = await startGateway({
    config: {
      channels: {
        main: { provider: "openai", baseUrl: up.url },
        look: { provider: "looker", models: ["x"] },
        free: { provider: "looker", models: ["x"], allowPrivateImages: true },
      },
    },
    files: { "plugins/looker/plugin.ts": looker },
  });
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});

/** An upstream that sends up to 200 MB as fast as the gateway reads, and a client that stops reading after the first bytes. */
async function startFlood() {
  const event = hello[1]!.replace("Hel", "x".repeat(64 * 1024));
  const flood = { written: 0, isBlocked: false };
  up.answer = (_, res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.write(hello[0]!);
    const more = () => {
      while (flood.written < 200 * 1024 * 1024 && !res.destroyed) {
        flood.written += event.length;
        flood.isBlocked = !res.write(event);
        if (flood.isBlocked) {
          res.once("drain", more);
          return;
        }
      }
    };
    more();
  };
  const body = JSON.stringify({
    model: "main/m",
    stream: true,
    messages: [{ role: "user", content: "x" }],
  });
  const socket = connect(gateway.port, "127.0.0.1");
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:${gateway.port}\r\nauthorization: Bearer ${gateway.token}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  await new Promise((resolve) => socket.once("data", resolve));
  socket.pause();
  let last = -1;
  await until("the upstream to be held", () => {
    const isHeld = flood.isBlocked && flood.written === last;
    last = flood.written;
    return isHeld;
  });
  return { flood, socket };
}

test("a client that does not read pauses the upstream", async () => {
  const { flood, socket } = await startFlood();
  assert.ok(flood.written < 30 * 1024 * 1024, `${flood.written} bytes went out`);
  const held = flood.written;
  socket.resume();
  await until("it to go on", () => flood.written > held * 2);
  socket.destroy();
  await up.seen.at(-1)!.cut;
});

test("a request ends if its client disconnects while the gateway waits for it to read", async () => {
  const { socket } = await startFlood();
  socket.destroy();
  await up.seen.at(-1)!.cut;
  await until("the request to end", async () => {
    const { channels } = await gateway.json("GET", "/channels");
    return channels.find(({ name }: { name: string }) => name === "main").inFlight === 0;
  });
});

test("a large response is counted regardless of how its reads are split", async () => {
  const rest = JSON.stringify(completion("")).length;
  for (const over of [1, 40, 100, 5000]) {
    up.answer = (_, res) => json(res, completion("z".repeat(1024 * 1024 - rest + over)));
    const response = await gateway.request("POST", "/v1/chat/completions", {
      model: `main/over-${over}`,
      messages: [{ role: "user", content: "x" }],
    });
    assert.is((await response.arrayBuffer()).byteLength, 1024 * 1024 + over);
    const { rows } = await gateway.json("GET", `/usage?by=model&model=over-${over}`);
    assert.equal([rows[0]?.totalTokens, rows[0]?.unmetered], [5, 0], `${over} bytes`);
  }
});

test("images: data URLs are accepted, and private addresses are refused unless the channel allows them", async () => {
  const ask = (model: string, url: string) =>
    gateway.request("POST", "/v1/chat/completions", {
      model,
      messages: [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }],
    });
  const response = await ask("look/x", "data:image/gif;base64,R0lGODlh");
  assert.is(
    ((await response.json()) as ReturnType<typeof JSON.parse>).choices[0].message.content,
    "image/gif 6",
  );
  assert.is(response.headers.get("x-portico-dropped"), "temperature");
  up.answer = (_, res) => res.writeHead(200, { "content-type": "image/png" }).end(Buffer.alloc(9));
  const url = up.url.replace("/v1", "/a.png");
  for (const address of [
    url,
    "http://169.254.169.254/x",
    "http://[::1]/x",
    "ftp://example.com/x",
    "data:image/png",
    "nonsense",
  ]) {
    const refused = await ask("look/x", address);
    assert.is(refused.status, 400, address);
    assert.is(
      ((await refused.json()) as { error: { code: string } }).error.code,
      "invalid_request_error",
    );
  }
  assert.is(
    ((await (await ask("free/x", url)).json()) as ReturnType<typeof JSON.parse>).choices[0].message
      .content,
    "image/png 9",
  );
  for (const [type, body] of [
    ["text/html; charset=utf-8", "<html>"],
    ["application/problem+json", "{}"],
    ["image/png", ""],
  ] as const) {
    up.answer = (_, res) => res.writeHead(200, { "content-type": type }).end(body);
    const refused = await ask("free/x", url);
    assert.is(refused.status, 400, type);
    assert.match(await refused.text(), /could not fetch an image/);
  }
});

test("images: a failure is reported with its path, and a type by the name that providers know", async () => {
  const image = (url: string) => ({
    kind: "image" as const,
    url,
    path: "messages[0].content[0].image_url",
  });
  const from = (fetched: () => { mediaType: string; data: Buffer }) => ({
    fetchImage: async () => fetched(),
  });
  const data = Buffer.from("x");
  const jpeg = { mediaType: "image/jpeg", base64: "eA==" };
  for (const mediaType of ["image/jpg", "image/pjpeg"]) {
    const source = from(() => ({ mediaType, data }));
    for (const url of [
      `data:${mediaType};base64,eA==`,
      `data:${mediaType};x=y;base64,eA==`,
      "https://a/b",
    ])
      assert.equal(await readImage(image(url), source), jpeg);
  }
  const broken = from(() => {
    throw new PorticoError("invalid_request_error", "This is not a URL.", { param: "url" });
  });
  const error = await readImage(image("http://"), broken).catch((reason: unknown) => reason);
  assert.is((error as PorticoError).param, "messages[0].content[0].image_url.url");
});

test("the command lists and tests channels", async () => {
  up.answer = (_, res) => json(res, completion("pong"));
  const run = (...words: string[]) => porticoHere(gateway.home, ["channels", ...words]);
  const { stdout } = await portico(gateway.home, ["channels", "list", "--json"]);
  const names = (JSON.parse(stdout) as { channels: { name: string }[] }).channels.map(
    ({ name }) => name,
  );
  for (const name of ["main", "echo"]) assert.ok(names.includes(name));
  assert.match((await run("test", "main", "--model", "m")).stdout, "pong");
  const failed = await run("test", "nobody");
  assert.is(failed.code, 1);
  assert.match(failed.stderr, "nobody");
});

test.run();
