/** What happens while something else is awaited: settings that change, a node that goes, a plugin that ends. */
import { EventEmitter, once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, connect, createServer, Socket } from "node:net";
import type { PluginContext, Workers } from "portico";
import * as assert from "uvu/assert";
import { WebSocketServer } from "ws";
import { handOn } from "../../../plugins/nodes/gateway/hand-on.ts";
import { startHost } from "../../../plugins/nodes/host/host.ts";
import { dial } from "../../../plugins/nodes/node-socket.ts";
import { quietLog } from "../../support/quiet-log.ts";
import { test } from "../../support/suite.ts";
import { temporaryDir } from "../../support/temporary.ts";

/** A gateway whose welcome is the test's. */
async function openGateway() {
  const server = createHttpServer();
  const sockets = new WebSocketServer({ server });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = () => {
    for (const socket of sockets.clients) socket.terminate();
    server.close();
  };
  return { sockets, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

const WELCOME = JSON.stringify({ t: "welcome", version: "1", heartbeatMs: 60_000, maxFileBytes: 1000 });

test("settings that change while the node connects are followed once it has", async () => {
  const gateway = await openGateway();
  const end = new AbortController();
  const dir = temporaryDir();
  const changed = new EventEmitter();
  let config = { browserProxy: { enabled: false }, gateway: gateway.url, token: "first", name: "n" };
  const ctx = {
    version: "1",
    signal: end.signal,
    log: quietLog(),
    paths: { tmp: dir, state: dir },
    on: () => () => {},
  } as unknown as PluginContext;
  const onConfig = (listener: () => void) => {
    changed.on("change", listener);
    return () => void changed.off("change", listener);
  };
  try {
    const first = once(gateway.sockets, "connection");
    const started = startHost({ ctx, config: () => config as never, onConfig }, { say() {} });
    const [socket] = await first;
    config = { ...config, token: "second" };
    changed.emit("change");
    const second = once(gateway.sockets, "connection");
    socket.send(WELCOME);
    await started;
    const [, request] = await second;
    assert.is(request.headers.authorization, "Bearer second");
  } finally {
    end.abort();
    gateway.close();
  }
});

test("a plugin that has ended before the connection is begun makes none", async () => {
  const gateway = await openGateway();
  try {
    const made = dial(gateway.url.replace("http", "ws"), {}, AbortSignal.abort(), () => "made");
    assert.is(await made.catch(() => "refused"), "refused");
  } finally {
    gateway.close();
  }
});

test("a node that has gone before the first worker takes it is not passed on", async () => {
  const door = createServer();
  door.listen(0, "127.0.0.1");
  await once(door, "listening");
  const { port } = door.address() as AddressInfo;
  const gone = new Socket();
  const ask = async () => {
    await once(gone.destroy(), "close");
    return { port, code: Buffer.from("of the node") };
  };
  const knocked = once(door, "connection");
  await handOn({ ask } as unknown as Workers, { node: {}, headers: {} } as never, gone, Buffer.alloc(0));
  const next = connect(port, "127.0.0.1");
  const [first] = await knocked;
  next.end("of the test");
  assert.is(String((await once(first, "data"))[0]), "of the test");
  next.destroy();
  door.close();
});

test.run();
