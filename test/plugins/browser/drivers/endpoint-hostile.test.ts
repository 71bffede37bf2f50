/** Any kind of server may respond at a cdpUrl. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../../support/gateway.ts";

const test = suite("cdpUrl");
let handler: RequestListener;
const server = createServer((req, res) => handler(req, res));
let g: InProcessGateway;

test.before(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cdpUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  g = await startGateway({
    config: {
      browser: { remoteCdpTimeoutMs: 60_000, profiles: { other: { cdpUrl, color: "#00aa00" } } },
    },
  });
});
test.after(async () => {
  await g.stop();
  server.closeAllConnections();
  server.close();
});

async function start(): Promise<{ status: number; code: string; message: string }> {
  const response = await g.request("POST", "/start?profile=other", undefined, {
    server: "browser",
  });
  const { error } = (await response.json()) as { error: { code: string; message: string } };
  return { status: response.status, ...error };
}

test("a compressed bomb is refused by its size", async () => {
  const bomb = gzipSync(Buffer.concat([Buffer.from('{"x":"'), Buffer.alloc(5_000_000, "a")]));
  handler = (_req, res) => {
    res.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" });
    res.end(bomb);
  };
  const { status, code, message } = await start();
  assert.equal([status, code], [409, "browser_not_running"]);
  assert.match(message, "larger than");
});

const ODD: Record<string, RequestListener> = {
  "a redirect": (_req, res) =>
    void res.writeHead(302, { location: "http://169.254.169.254/" }).end(),
  "no JSON": (_req, res) => void res.end("<html>"),
  "JSON that is null": (_req, res) => void res.end("null"),
  "a refusal": (_req, res) => void res.writeHead(401).end(),
  "half a response": (_req, res) =>
    void res.writeHead(200, { "content-length": "9" }).write("{", () => res.destroy()),
};
for (const [what, listener] of Object.entries(ODD))
  test(`${what} is no browser`, async () => {
    handler = listener;
    const { status, code } = await start();
    assert.equal([status, code], [409, "browser_not_running"]);
  });

test.run();
