/** HTTPS of the gateway's own: its certificate, a renewed one, the command line, and the warning without it. */
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { request } from "node:https";
import { connect as connectPlain } from "node:net";
import { join } from "node:path";
import { connect, type PeerCertificate, type TLSSocket } from "node:tls";
import { WebSocket } from "ws";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { untrusted, gatewayOne, gatewayTwo } from "../../support/machine/certificates.ts";
import { makeHome, startGateway } from "../../support/gateway.ts";
import { portico } from "../../support/portico.ts";
import { waitForText, until } from "../../support/until.ts";

const home = makeHome();
const cert = join(home, "cert.pem");
const key = join(home, "key.pem");

function write(pair: typeof gatewayOne): void {
  writeFileSync(key, pair.key, { mode: 0o600 });
  writeFileSync(cert, pair.cert);
}

async function nameOf(port: number): Promise<string> {
  const socket: TLSSocket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false });
  await once(socket, "secureConnect");
  const peer: PeerCertificate = socket.getPeerCertificate();
  socket.destroy();
  return String(peer.subject.CN);
}

function get(
  port: number,
  path: string,
  token?: string,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const options = {
      port,
      host: "127.0.0.1",
      path,
      headers,
      rejectUnauthorized: false,
      agent: false,
    } as const;
    request(options, (res) => {
      let text = "";
      res.on("data", (chunk) => {
        text += chunk;
      });
      res.on("end", () => resolve({ status: res.statusCode ?? 0, text }));
    })
      .on("error", reject)
      .end();
  });
}

test("the gateway speaks TLS with its certificate, and loads a renewed one", async () => {
  write(gatewayOne);
  const gateway = await startGateway({ home, config: { gateway: { tls: { cert, key } } } });
  try {
    const { port, token } = gateway;
    assert.match(gateway.url, /^https:/);
    assert.is((await get(port, "/health")).status, 200);
    assert.is((await get(port, "/kernel/status")).status, 401);
    const { url, notices } = JSON.parse((await get(port, "/kernel/status", token)).text);
    assert.is(url, gateway.url);
    assert.equal(
      notices.filter(({ from }: { from: string }) => from === "gateway"),
      [],
    );
    assert.is(await nameOf(port), "gw-one.example");

    const plain = connectPlain(port, "127.0.0.1", () =>
      plain.write("GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n"),
    );
    let output = "";
    plain.on("data", (chunk) => {
      output += chunk;
    });
    plain.on("error", () => {});
    await once(plain, "close");
    assert.not.match(output, "uptimeMs");

    const status = await portico(home, ["status"]);
    assert.is(status.code, 0, status.stderr);

    const before = connect({ port, host: "127.0.0.1", rejectUnauthorized: false });
    await once(before, "secureConnect");
    writeFileSync(cert, "no certificate");
    await until("the refusal", () =>
      gateway.lines.some(({ msg }) => /cannot be used/.test(String(msg))),
    );
    assert.is(await nameOf(port), "gw-one.example");
    write(gatewayTwo);
    await until("the new certificate", async () => (await nameOf(port)) === "gw-two.example");
    before.write("GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    await waitForText(before, "200 OK");
    assert.is((await portico(home, ["status"])).code, 0, "the command line trusts the renewed one");

    write(untrusted);
    await until("the one that has expired", async () => (await nameOf(port)) === "gw-old.example");
    const late = JSON.parse((await get(port, "/kernel/status", token)).text);
    assert.match(
      JSON.stringify(late.notices),
      /gateway\.tls: the certificate has expired \(Nov 21 /,
    );
    assert.ok(gateway.lines.some(({ msg }) => /has expired/.test(String(msg))));
    assert.is((await portico(home, ["status"])).code, 0, "it is the gateway's own, whatever it is");
    const stranger = await portico(makeHome(), [
      "status",
      "--url",
      gateway.url,
      "--token",
      "secret-word",
    ]);
    assert.match(stranger.stderr, "not trusted");

    const socket = new WebSocket(`wss://127.0.0.1:${port}/nowhere`, { rejectUnauthorized: false });
    const [error] = (await once(socket, "error")) as [Error];
    assert.match(error.message, "404");
  } finally {
    await gateway.stop();
  }
});

test("unusable certificate files stop the start and are named", async () => {
  write(gatewayOne);
  writeFileSync(join(home, "other.pem"), gatewayTwo.key);
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const inPem = { type: "pkcs8", format: "pem" } as const;
  writeFileSync(join(home, "rsa.pem"), privateKey.export(inPem));
  writeFileSync(
    join(home, "locked.pem"),
    privateKey.export({ ...inPem, cipher: "aes-256-cbc", passphrase: "word" }),
  );
  for (const [tls, problem] of [
    [{ cert: join(home, "none.pem"), key }, /gateway\.tls\.cert.*ENOENT/],
    [{ cert, key: join(home, "none.pem") }, /gateway\.tls\.key.*ENOENT/],
    [
      { cert, key: join(home, "other.pem") },
      /gateway\.tls: .*(?:mismatch|does not belong to the certificate)/,
    ],
    [{ cert: key, key }, /gateway\.tls: /],
    [
      { cert, key: join(home, "rsa.pem") },
      /gateway\.tls: .*(?:mismatch|does not belong to the certificate)/,
    ],
    [{ cert, key: join(home, "locked.pem") }, /gateway\.tls: .*passphrase/],
    [{ cert: home, key }, /gateway\.tls\.cert: .*it is not a regular file/],
    [{ cert, key: "/dev/zero" }, /gateway\.tls\.key: .*it is not a regular file/],
  ] as const) {
    let message = "";
    try {
      await (await startGateway({ config: { gateway: { tls } } })).stop();
    } catch (error) {
      message = (error as Error).message;
    }
    assert.match(message, problem);
  }
});

test("without TLS, a gateway that others can reach warns at its start and in its status", async () => {
  const auth = { token: "chosen-token" };
  for (const [gateway, warns] of [
    [{ bind: "0.0.0.0", auth }, true],
    [{ bind: "0.0.0.0", auth, trustedProxies: ["10.0.0.1"] }, false],
    [{ auth }, false],
  ] as const) {
    const running = await startGateway({ config: { gateway } });
    try {
      const { notices } = await running.json("GET", "/kernel/status");
      assert.is(
        notices.some(({ text }: { text: string }) => /clear text/.test(text)),
        warns,
      );
      assert.is(
        running.lines.some(({ msg }) => /clear text/.test(String(msg))),
        warns,
      );
    } finally {
      await running.stop();
    }
  }
});

test.run();
