/** What happens while something else is awaited: settings that change, a node that goes, a plugin that ends. */
import { EventEmitter, once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, connect, createServer, Socket } from "node:net";
import type { PluginContext, Workers } from "portico";
import * as assert from "uvu/assert";
import { WebSocketServer } from "ws";
import { relayToFirstWorker, acceptRelayedNodes } from "../../../plugins/nodes/gateway/relay.ts";
import { startHost } from "../../../plugins/nodes/host/host.ts";
import { dial } from "../../../plugins/nodes/node-socket.ts";
import { quietLog } from "../../support/quiet-log.ts";
import { waitForText } from "../../support/until.ts";
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

const WELCOME = JSON.stringify({
  t: "welcome",
  version: "1",
  heartbeatMs: 60_000,
  maxFileBytes: 1000,
});

test("settings that change while the node connects apply once it has connected", async () => {
  const gateway = await openGateway();
  const end = new AbortController();
  const dir = temporaryDir();
  const changed = new EventEmitter();
  let config = {
    browserProxy: { enabled: false },
    gateway: gateway.url,
    token: "first",
    name: "n",
  };
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

test("a plugin that has ended before the connection begins opens none", async () => {
  const gateway = await openGateway();
  try {
    const dialed = dial(gateway.url.replace("http", "ws"), {}, AbortSignal.abort(), () => "made");
    assert.is(await dialed.catch(() => "refused"), "refused");
  } finally {
    gateway.close();
  }
});

test("a node that disconnects before the first worker takes it is not passed on", async () => {
  const door = createServer();
  door.listen(0, "127.0.0.1");
  await once(door, "listening");
  const { port } = door.address() as AddressInfo;
  const closedSocket = new Socket();
  const ask = async () => {
    await once(closedSocket.destroy(), "close");
    return { port, code: Buffer.from("of the node") };
  };
  const knocked = once(door, "connection");
  await relayToFirstWorker(
    { ask } as unknown as Workers,
    { node: {}, headers: {} } as never,
    closedSocket,
    Buffer.alloc(0),
  );
  const next = connect(port, "127.0.0.1");
  const [first] = await knocked;
  next.end("of the test");
  assert.is(await waitForText(first, "test"), "of the test");
  next.destroy();
  door.close();
});

test("a ticket may arrive in parts, and an incomplete one delays nobody", async () => {
  let ticket!: (announced: object) => Promise<{ port: number; code: Buffer }>;
  const workers = {
    on: (_topic: string, handler: typeof ticket) => {
      ticket = handler;
    },
  };
  const ends: (() => void)[] = [];
  const ctx = { defer: (end?: () => void) => void (end && ends.push(end)) };
  const connections = new EventEmitter();
  acceptRelayedNodes(
    ctx as unknown as PluginContext,
    workers as unknown as Workers,
    () => {},
    async ({ name }, _req, socket) => void connections.emit(name, socket),
  );
  try {
    const begin = async (name: string) => {
      const { port, code } = await ticket({ node: { name }, headers: {} });
      const socket = connect({ port, host: "127.0.0.1", noDelay: true });
      await once(socket, "connect");
      const done = once(connections, name);
      socket.write(code.subarray(0, 5));
      return { end: () => socket.write(code.subarray(5)), done, close: () => socket.destroy() };
    };
    const [slow, quick] = [await begin("slow"), await begin("quick")];
    for (const sender of [quick, slow]) {
      sender.end();
      const [socket] = await sender.done;
      socket.destroy();
      sender.close();
    }
  } finally {
    for (const end of ends) end();
  }
});

test.run();
