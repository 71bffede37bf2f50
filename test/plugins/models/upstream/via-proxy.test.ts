/** Upstreams behind a proxy: requests to the proxy, TLS with the upstream, and errors of the proxy. */
import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  request,
  type RequestListener,
  type Server,
} from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { test } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { createUpstreamClient } from "../../../../plugins/models/upstream/http/upstream-client.ts";
import { gatewayOne } from "../../../support/machine/certificates.ts";
import { freePort } from "../../../support/free-port.ts";
import { startGateway } from "../../../support/gateway.ts";
import {
  completion,
  hello,
  json,
  startUpstream,
  stream,
} from "../../../support/upstreams/upstream.ts";

const servers: Server[] = [];
test.after(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});

async function listen(server: Server): Promise<number> {
  servers.push(server.listen(0, "127.0.0.1"));
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** A proxy that resolves every name to this machine, and records its requests. */
async function startProxy(refuse?: number) {
  const connectRequests: { line: string; credentials: string | undefined }[] = [];
  const note = ({ method, url, headers }: IncomingMessage) =>
    connectRequests.push({ line: `${method} ${url}`, credentials: headers["proxy-authorization"] });
  const pass: RequestListener = (req, res) => {
    note(req);
    if (refuse !== undefined) return void res.writeHead(refuse).end();
    const { port, pathname } = new URL(req.url!);
    const { method, headers } = req;
    req.pipe(
      request({ host: "127.0.0.1", port, path: pathname, method, headers }, (from) => {
        res.writeHead(from.statusCode!, from.headers);
        from.pipe(res);
      }),
    );
  };
  const server = createServer(pass);
  server.on("connect", (req, client) => {
    note(req);
    client.on("error", () => {});
    if (refuse !== undefined) return void client.end(`HTTP/1.1 ${refuse} No\r\n\r\n`);
    const upstream = connect(Number(req.url!.split(":")[1]), "127.0.0.1", () => {
      client.write("HTTP/1.1 200 OK\r\n\r\n");
      client.pipe(upstream).pipe(client);
    });
    upstream.on("error", () => client.destroy());
  });
  return { port: await listen(server), asked: connectRequests };
}

const basic = `Basic ${Buffer.from("me:p@ss").toString("base64")}`;

function ask(env: Record<string, string>, url: string, body = "{}"): Promise<string> {
  const client = createUpstreamClient(env);
  return new Promise<string>((resolve, reject) => {
    let text = "";
    client.send(
      { method: "POST", url, headers: {}, body },
      {
        head() {},
        data: (bytes) => (text += bytes.toString()),
        end: () => resolve(text),
        fail: reject,
      },
    );
  }).finally(() => client.close());
}

test("an https upstream is reached through a tunnel, with TLS of its own name", async () => {
  const proxy = await startProxy();
  let name: unknown;
  const port = await listen(
    createTlsServer(gatewayOne, (req, res) => {
      name = (req.socket as unknown as { servername: unknown }).servername;
      req.pipe(res);
    }) as unknown as Server,
  );
  process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
  const body = "x".repeat(300_000);
  const env = { HTTPS_PROXY: `http://me:p%40ss@127.0.0.1:${proxy.port}` };
  const text = await ask(env, `https://gw-one.example:${port}/v1/x`, body).finally(() => {
    delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
  });
  assert.is(text === body, true);
  assert.is(name, "gw-one.example");
  assert.equal(proxy.asked, [{ line: `CONNECT gw-one.example:${port}`, credentials: basic }]);
});

test("the proxy receives the full URL of an http upstream; loopback and NO_PROXY bypass the proxy", async () => {
  const proxy = await startProxy();
  const port = await listen(
    createServer((req, res) => void res.end(`${req.url} ${req.headers.host}`)),
  );
  const env = { HTTP_PROXY: `me:p%40ss@127.0.0.1:${proxy.port}`, NO_PROXY: "direct.invalid" };
  assert.is(await ask(env, `http://up.invalid:${port}/v1/x`), `/v1/x up.invalid:${port}`);
  assert.is(await ask(env, `http://127.0.0.1:${port}/v1/x`), `/v1/x 127.0.0.1:${port}`);
  await ask(env, `http://direct.invalid:${port}/`).then(assert.unreachable, () => undefined);
  assert.equal(proxy.asked, [{ line: `POST http://up.invalid:${port}/v1/x`, credentials: basic }]);
});

test("a channel's proxy passes responses and streams; a proxy that refuses or is unreachable is named without its credentials", async () => {
  const [proxy, refusing, up] = [
    await startProxy(),
    await startProxy(407),
    await startUpstream((upstreamRequest, res) =>
      upstreamRequest.body.stream ? stream(res, ...hello) : json(res, completion("Hello")),
    ),
  ];
  const free = await freePort();
  const channel = (port: number, baseUrl = up.url) => ({
    provider: "openai",
    baseUrl,
    maxRetries: 0,
    proxy: `http://me:p%40ss@127.0.0.1:${port}`,
  });
  const gateway = await startGateway({
    config: {
      channels: {
        through: channel(proxy.port),
        refused: channel(refusing.port),
        refusedTls: channel(refusing.port, "https://up.invalid/v1"),
        gone: channel(free),
        goneTls: channel(free, "https://up.invalid/v1"),
      },
    },
  });
  const messages = [{ role: "user", content: "hi" }];
  const say = async (model: string, more = {}) => {
    const response = await gateway.request("POST", "/v1/chat/completions", {
      model,
      messages,
      ...more,
    });
    return { status: response.status, text: await response.text() };
  };
  try {
    assert.is(JSON.parse((await say("through/x")).text).choices[0].message.content, "Hello");
    assert.match((await say("through/x", { stream: true })).text, /data: \[DONE\]/);
    assert.is(proxy.asked.length, 2);
    const faults: [string, RegExp][] = [
      ["refused", /proxy http:\/\/127\.0\.0\.1:\d+ refused the connection \(HTTP 407\)/],
      ["refusedTls", /proxy http:\/\/127\.0\.0\.1:\d+ refused the connection \(HTTP 407\)/],
      ["gone", /proxy http:\/\/127\.0\.0\.1:\d+ could not be reached \(ECONNREFUSED\)/],
      ["goneTls", /proxy http:\/\/127\.0\.0\.1:\d+ could not be reached \(ECONNREFUSED\)/],
    ];
    for (const [name, message] of faults) {
      const { status, text } = await say(`${name}/x`);
      assert.is(status, 502, name);
      const { error } = JSON.parse(text);
      assert.is(error.code, "upstream_error");
      assert.match(error.message, message);
      assert.not.match(text, /p@ss|p%40ss/);
    }
  } finally {
    await gateway.stop();
    await up.close();
  }
});

test.run();
