/** The server and token that the command line uses, and its output if the server is not Portico. */
import { createServer, type RequestListener } from "node:http";
import { createServer as createTcpServer } from "node:net";
import type { AddressInfo } from "node:net";
import * as assert from "uvu/assert";
import { makeHome, startGateway } from "../../support/gateway.ts";
import { porticoHere } from "../../support/portico.ts";
import { test } from "../../support/suite.ts";

async function withServer<T>(
  server: ReturnType<typeof createServer> | ReturnType<typeof createTcpServer>,
  use: (url: string) => Promise<T>,
): Promise<T> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.close();
  }
}

const strangers: Record<string, RequestListener> = {
  "a page": (_req, res) => res.setHeader("content-type", "text/html").end("<h1>hello</h1>"),
  "a page that is not there": (_req, res) =>
    res.writeHead(404, { "content-type": "text/html" }).end("<h1>404</h1>"),
  "another program's JSON": (_req, res) =>
    res.setHeader("content-type", "application/json").end(`{"status":"up"}`),
  "another program's error": (_req, res) =>
    res.writeHead(404, { "content-type": "application/json" }).end(`{"detail":"Not Found"}`),
  "broken JSON": (_req, res) => res.setHeader("content-type", "application/json").end(`{"a":`),
  "a proxy's own error": (_req, res) =>
    res
      .writeHead(502, { "content-type": "text/html", "x-request-id": "1" })
      .end("<h1>502 Bad Gateway</h1>"),
  nothing: (_req, res) => res.end(),
};

for (const [name, listener] of Object.entries(strangers))
  test(`one line reports that the server is not Portico: ${name}`, async () => {
    await withServer(createServer(listener), async (url) => {
      for (const words of [["status"], ["hooks", "list"], ["keys", "list"]]) {
        const env = { PORTICO_URL: url, PORTICO_TOKEN: "t" };
        const { code, stderr } = await porticoHere(makeHome(), words, { ...process.env, ...env });
        assert.is(code, 1, words.join(" "));
        assert.match(stderr, "is not a Portico gateway");
        assert.is(stderr.trim().split("\n").length, 1, stderr);
      }
    });
  });

test("one line reports a server that does not speak HTTP", async () => {
  const server = createTcpServer((socket) => socket.end("SSH-2.0-OpenSSH_9.2\r\n"));
  await withServer(server, async (url) => {
    const { code, stderr } = await porticoHere(makeHome(), [
      "status",
      "--url",
      url,
      "--token",
      "t",
    ]);
    assert.is(code, 1);
    assert.match(stderr, "it does not speak HTTP");
  });
});

test("PORTICO_TOKEN belongs to the gateway that --url names, not to the home's", async () => {
  const gateway = await startGateway();
  try {
    const env = { ...process.env, PORTICO_TOKEN: "another-gateway's" };
    const own = await porticoHere(gateway.home, ["hooks", "list"], env);
    assert.is(own.code, 0, own.stderr);
    const result = await porticoHere(gateway.home, ["hooks", "list", "--url", gateway.url], env);
    assert.is(result.code, 1);
    assert.match(result.stderr, "--token");
    const token = ["--token", gateway.token];
    const both = await porticoHere(
      gateway.home,
      ["hooks", "list", "--url", gateway.url, ...token],
      env,
    );
    assert.is(both.code, 0, both.stderr);
  } finally {
    await gateway.stop();
  }
});

test("a token given with --token is used for every address", async () => {
  const gateway = await startGateway();
  try {
    const wrong = await porticoHere(gateway.home, ["hooks", "list", "--token", "wrong"]);
    assert.is(wrong.code, 1);
  } finally {
    await gateway.stop();
  }
});

test.run();
