/** The WebSockets of plugins, both ends. */
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import { waitForText } from "../../../support/until.ts";
import { test } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { WebSocket } from "ws";
import {
  acceptSocket,
  dialSocket,
  readMessages,
} from "../../../../plugins/browser/net/web-socket.ts";
import { closeAll, startServer } from "../../../kernel/http/harness.ts";

test.after(closeAll);

const LIMIT = { maxMessageBytes: 1000 };

/** A server that passes every socket to `accept`. */
async function server<T>(accept: (ws: WebSocket) => T, protocol?: string) {
  const testServer = await startServer();
  const accepted: Promise<T>[] = [];
  testServer.server.upgrade("/ws", { access: "public" }, (req, socket, head) => {
    const accepting = acceptSocket(
      req,
      socket,
      head,
      { ...LIMIT, ...(protocol && { protocol }) },
      accept,
    );
    accepted.push(accepting);
    return accepting.then(() => {});
  });
  return { url: `ws://127.0.0.1:${testServer.port}/ws`, port: testServer.port, accepted };
}

const closed = async (socket: WebSocket): Promise<number> => (await once(socket, "close"))[0];

test("both ends deliver readable messages by their type", async () => {
  const received: unknown[] = [];
  const { url, accepted } = await server((ws) => {
    readMessages(ws, {
      json: (message) => received.push(message),
      binary: (content) => ws.send(content),
    });
    return "taken";
  });
  const socket = await dialSocket(url, LIMIT);
  await once(socket, "open");
  assert.is(await accepted[0], "taken");
  socket.send('{"a":1}');
  socket.send(Buffer.from("echo"));
  const [content] = await once(socket, "message");
  assert.is(String(content), "echo");
  assert.equal(received, [{ a: 1 }]);
  socket.terminate();
});

test("a message that is not JSON or makes its handler throw closes the connection with 1002", async () => {
  const { url } = await server((ws) =>
    readMessages(ws, { json: (message) => void (message as object).constructor.name }),
  );
  for (const text of ["Too many sessions", "", "null"]) {
    const socket = await dialSocket(url, LIMIT);
    await once(socket, "open");
    socket.send(text);
    assert.is(await closed(socket), 1002, text);
  }
});

test("a message above the limit ends the connection with 1009", async () => {
  const { url } = await server(() => {});
  const socket = await dialSocket(url, LIMIT);
  await once(socket, "open");
  socket.send("x".repeat(1001));
  assert.is(await closed(socket), 1009);
});

test("the required subprotocol is selected from the offered ones, or none", async () => {
  const { url } = await server(() => {}, "wanted");
  const offer = async (...offered: string[]): Promise<string> => {
    const socket = new WebSocket(url, offered);
    await once(socket, "open");
    socket.terminate();
    return socket.protocol;
  };
  assert.is(await offer("other", "wanted"), "wanted");
  const none = new WebSocket(url, ["other"]);
  const [error] = (await once(none, "error")) as [Error];
  assert.match(error.message, "no subprotocol");
});

test("accepting fails for an invalid handshake or a disconnected client", async () => {
  const { port, accepted } = await server(() => {});
  const raw = connect(port, "127.0.0.1");
  raw.write(
    `GET /ws HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`,
  );
  const [head = "", body = ""] = (await waitForText(raw, "}}")).split("\r\n\r\n");
  assert.match(head, /^HTTP\/1\.1 400 /);
  assert.match(head, /^x-request-id: /m);
  const { error } = JSON.parse(body);
  assert.is(error.code, "invalid_request_error");
  assert.match(error.message, "not a WebSocket handshake");
  assert.match((await accepted[0]?.then(String, String)) ?? "", "not a WebSocket handshake");
  const socket = connect(port, "127.0.0.1").destroy();
  const accepting = acceptSocket(
    {} as IncomingMessage,
    socket,
    Buffer.alloc(0),
    LIMIT,
    () => "taken",
  );
  assert.match(await accepting.then(String, String), "during the handshake");
});

test.run();
