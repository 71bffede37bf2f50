/** Upstreams over TLS, asked by a gateway that trusts certain certificates: a process of its own, since they are read at its start. */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import { test } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import {
  expired,
  localhost,
  gatewayOne,
  gatewayTwo,
} from "../../../support/machine/certificates.ts";
import { makeHome, type SpawnedGateway, spawnGateway } from "../../../support/gateway.ts";

const trusted = [localhost, gatewayOne, expired];
const servers: { close(): unknown }[] = [];
const resumed: boolean[] = [];
/** The length of the body of each complete request. */
const bodies: number[] = [];
let gateway: SpawnedGateway;

async function upstream({ cert, key }: { cert: string; key: string }): Promise<string> {
  const server = createServer({ cert, key }, (request, response) => {
    resumed.push((request.socket as TLSSocket).isSessionReused());
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
    });
    request.on("end", () => {
      bodies.push(bytes);
      // Each request has its own connection, so that the next one can resume the session.
      response.writeHead(200, { "content-type": "application/json", connection: "close" });
      response.end(
        '{"choices":[{"index":0,"message":{"role":"assistant","content":"over TLS"},"finish_reason":"stop"}]}',
      );
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `https://localhost:${(server.address() as AddressInfo).port}/v1`;
}

/** Refuses a request after the beginning of its body, and closes. */
async function refusing(): Promise<string> {
  const server = createTlsServer(localhost, (socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.pause();
      const body = '{"error":{"message":"too long a sound","type":"invalid_request_error"}}';
      const head = `HTTP/1.1 413 Payload Too Large\r\ncontent-length: ${body.length}\r\nconnection: close`;
      socket.write(`${head}\r\ncontent-type: application/json\r\n\r\n${body}`, () =>
        socket.destroy(),
      );
    });
  });
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `https://localhost:${(server.address() as AddressInfo).port}/v1`;
}

test.before(async () => {
  const home = makeHome();
  const authorities = join(home, "authorities.pem");
  writeFileSync(authorities, trusted.map(({ cert }) => cert).join("\n"));
  const channel = async (certificate: { cert: string; key: string }) => ({
    provider: "openai",
    baseUrl: await upstream(certificate),
    maxRetries: 0,
    models: ["m"],
  });
  gateway = await spawnGateway({
    home,
    env: { NODE_EXTRA_CA_CERTS: authorities },
    config: {
      channels: {
        good: await channel(localhost),
        otherName: await channel(gatewayOne),
        expired: await channel(expired),
        unknown: await channel(gatewayTwo),
        refusing: { ...(await channel(localhost)), baseUrl: await refusing() },
      },
    },
  });
});
test.after(async () => {
  await gateway?.stop();
  for (const server of servers) server.close();
});

const ask = (channel: string) =>
  gateway.request("POST", "/v1/chat/completions", {
    model: `${channel}/m`,
    messages: [{ role: "user", content: "hi" }],
  });

test("a certificate that is trusted, and the second handshake resumes the first", async () => {
  for (let i = 0; i < 3; i++) {
    const response = await ask("good");
    assert.is(response.status, 200, await response.clone().text());
    assert.match(await response.text(), "over TLS");
  }
  assert.equal(resumed, [false, true, true]);
});

async function upload(channel: string, size: number): Promise<Response> {
  const form = new FormData();
  form.set("file", new Blob([Buffer.alloc(size, "x")]), "a.mp3");
  form.set("model", `${channel}/m`);
  const headers = { authorization: `Bearer ${gateway.token}` };
  return fetch(`${gateway.url}/v1/audio/transcriptions`, { method: "POST", body: form, headers });
}

test("a file of several megabytes arrives", async () => {
  assert.is((await upload("good", 5_000_000)).status, 200);
  assert.ok(bodies.at(-1)! > 5_000_000, String(bodies.at(-1)));
});

test("a refusal is reported even if it arrives before the upload is complete", async () => {
  for (let i = 0; i < 5; i++) {
    const response = await upload("refusing", 5_000_000);
    const { error } = (await response.json()) as { error: { message: string } };
    assert.equal([response.status, error.message], [413, "too long a sound"]);
  }
});

for (const [channel, why] of [
  ["otherName", "ERR_TLS_CERT_ALTNAME_INVALID"],
  ["expired", "CERT_HAS_EXPIRED"],
  ["unknown", "DEPTH_ZERO_SELF_SIGNED_CERT"],
])
  test(`a server with a refused certificate (${why}) receives no request, and the error gives the reason`, async () => {
    const before = resumed.length;
    const response = await ask(channel as string);
    const { error } = (await response.json()) as { error: { message: string; code: string } };
    assert.is(response.status, 502);
    assert.is(error.code, "upstream_error");
    assert.match(error.message, why as string);
    assert.is(resumed.length, before);
  });

test.run();
