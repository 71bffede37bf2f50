/** A gateway that is suspended for a moment, as on a busy machine, loses no pending connection. */
import { channel } from "node:diagnostics_channel";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import * as assert from "uvu/assert";
import { startGateway } from "../../support/gateway.ts";
import { test } from "../../support/suite.ts";

test("a host with two addresses is reached at the one that accepts connections, even if it is slow", async () => {
  const server = createServer((_req, res) => res.end("here")).listen(0, "127.0.0.1");
  const gateway = await startGateway();
  const { port } = server.address() as AddressInfo;
  let attempts = 0;
  const standStill = (message: unknown): void => {
    const { socket } = message as { socket: Socket };
    socket.on("connectionAttempt", (_ip, to) => {
      if (to !== port) return;
      attempts++;
      // Once its own time has begun.
      process.nextTick(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300));
    });
  };
  channel("net.client.socket").subscribe(standStill);
  try {
    const source = { kind: "http", url: `http://two.localhost:${port}/` };
    const { id } = await gateway.json("POST", "/polls", {
      source,
      every: "1h",
      status: "disabled",
    });
    for (const status of ["baseline", "unchanged", "unchanged"]) {
      const run = await gateway.json("POST", `/polls/${id}/run`);
      assert.equal([run.status, run.error], [status, undefined]);
    }
    assert.is(attempts, 3);
  } finally {
    channel("net.client.socket").unsubscribe(standStill);
    await gateway.stop();
    server.closeAllConnections();
    server.close();
  }
});

test.run();
