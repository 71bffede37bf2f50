/** Upstreams over TLS, asked by a gateway that trusts certain certificates: a process of its own, since they are read at its start. */
import { writeFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { test } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { expired, local, one, two } from "../../../support/machine/certificates.ts";
import { makeHome, type SpawnedGateway, spawnGateway } from "../../../support/gateway.ts";

const trusted = [local, one, expired];
const servers: Server[] = [];
const resumed: boolean[] = [];
let gateway: SpawnedGateway;

async function upstream({ cert, key }: { cert: string; key: string }): Promise<string> {
  const server = createServer({ cert, key }, (request, response) => {
    resumed.push((request.socket as TLSSocket).isSessionReused());
    // Each request has a connection of its own, so that the next one may resume the session.
    response.writeHead(200, { "content-type": "application/json", connection: "close" });
    response.end(
      '{"choices":[{"index":0,"message":{"role":"assistant","content":"over TLS"},"finish_reason":"stop"}]}',
    );
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
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
        good: await channel(local),
        otherName: await channel(one),
        expired: await channel(expired),
        unknown: await channel(two),
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

for (const [channel, why] of [
  ["otherName", "ERR_TLS_CERT_ALTNAME_INVALID"],
  ["expired", "CERT_HAS_EXPIRED"],
  ["unknown", "DEPTH_ZERO_SELF_SIGNED_CERT"],
])
  test(`a certificate that is refused (${why}) gets no request, and the error says why`, async () => {
    const before = resumed.length;
    const response = await ask(channel as string);
    const { error } = (await response.json()) as { error: { message: string; code: string } };
    assert.is(response.status, 502);
    assert.is(error.code, "upstream_error");
    assert.match(error.message, why as string);
    assert.is(resumed.length, before);
  });

test.run();
