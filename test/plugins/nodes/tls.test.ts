/** A gateway that speaks TLS, and a node that is told what is wrong with that. */
import { once } from "node:events";
import { createServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { PluginContext } from "portico";
import * as assert from "uvu/assert";
import { startHost } from "../../../plugins/nodes/host/host.ts";
import { expired, localhost } from "../../support/machine/certificates.ts";
import { quietLog } from "../../support/quiet-log.ts";
import { test } from "../../support/suite.ts";
import { temporaryDir } from "../../support/temporary.ts";

/** What a node says that is to connect there: its first words, whether it goes on trying or not. */
async function firstWords(gateway: string): Promise<{ said: string; ends: boolean }> {
  const end = new AbortController();
  const dir = temporaryDir();
  const ctx = {
    version: "1",
    signal: end.signal,
    log: quietLog(),
    paths: { tmp: dir, state: dir },
  };
  const config = { browserProxy: { enabled: false }, gateway, token: "t", name: "n" };
  const parts = {
    ctx: ctx as unknown as PluginContext,
    config: () => config,
    onConfig: () => () => {},
  };
  try {
    return await new Promise((resolve) => {
      const say = (text: string): void => resolve({ said: text, ends: false });
      startHost(parts, { say }).catch((error: Error) =>
        resolve({ said: error.message, ends: true }),
      );
    });
  } finally {
    end.abort();
  }
}

async function listen(server: ReturnType<typeof createServer>): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

for (const [name, certificate] of Object.entries({ local: localhost, expired }))
  test(`a certificate that is not trusted is named, with what to do (${name})`, async () => {
    const server = createSecureServer(certificate);
    const port = await listen(server);
    try {
      const { said: text, ends } = await firstWords(`https://localhost:${port}`);
      assert.match(text, /https:\/\/localhost:\d+.*NODE_EXTRA_CA_CERTS/);
      assert.ok(ends);
    } finally {
      server.close();
    }
  });

test("http to an https port, and https to an http port, are reported", async () => {
  const [plain, secure] = [createServer(), createSecureServer(localhost)];
  try {
    const toSecure = await firstWords(`http://localhost:${await listen(secure)}`);
    assert.match(toSecure.said, /only https/);
    assert.not(toSecure.ends);
    assert.match((await firstWords(`https://localhost:${await listen(plain)}`)).said, /only http/);
  } finally {
    plain.close();
    secure.close();
  }
});

test.run();
