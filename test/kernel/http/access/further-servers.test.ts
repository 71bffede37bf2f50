/** The guards of the servers that plugins open beside the gateway's own. */
import { networkInterfaces } from "node:os";
import * as assert from "uvu/assert";
import { Guards } from "../../../../kernel/http/access/guards.ts";
import { ask } from "../../../support/raw-http.ts";
import { suite } from "../../../support/suite.ts";
import { closeAll, startServer, type TestServerOptions } from "../harness.ts";

const test = suite("guards of further servers");
test.after(closeAll);

const bearer = { authorization: "Bearer right-token" };

async function guarded(options: TestServerOptions = {}) {
  const server = await startServer(options);
  server.server.route("GET", "/item", { access: "gateway" }, () => ({}));
  return server;
}

test("a server's own list of origins applies in addition to the configured one", async () => {
  const extension = "chrome-extension://aaaabbbbccccddddeeeeffffgggghhhh";
  const server = await guarded({ origins: [extension] });
  assert.is((await ask(server, "GET", "/item", { ...bearer, origin: extension })).status, 200);
  assert.is(
    (await ask(server, "GET", "/item", { ...bearer, origin: extension.replace("a", "b") })).status,
    403,
  );
});

test("loopbackOnly goes by the peer's address", async () => {
  const { settings } = await guarded();
  const guards = new Guards({
    settings: () => ({ http: settings, trustedProxies: [] }),
    loopbackOnly: true,
    origins: [],
  });
  guards.bind("0.0.0.0", 1);
  const from = (remoteAddress: string) =>
    guards.check({
      socket: { remoteAddress },
      headers: { host: "localhost:1" },
      rawHeaders: [],
    } as never);
  for (const address of ["127.0.0.1", "::1", "::ffff:127.0.0.1"]) from(address);
  for (const address of ["192.0.2.7", "::ffff:192.0.2.7", "2001:db8::7", ""])
    assert.throws(() => from(address), /own machine only/, address);
});

test("loopbackOnly refuses peers from elsewhere, wherever the server is bound", async () => {
  const server = await guarded({ host: "0.0.0.0", loopbackOnly: true });
  assert.is((await ask(server, "GET", "/item", bearer)).status, 200);
  const outside = Object.values(networkInterfaces())
    .flat()
    .find((face) => face && !face.internal && face.family === "IPv4");
  if (!outside) return;
  const response = await fetch(`http://${outside.address}:${server.port}/item`, {
    headers: bearer,
  });
  assert.is(response.status, 403);
  await response.arrayBuffer();
});

test.run();
