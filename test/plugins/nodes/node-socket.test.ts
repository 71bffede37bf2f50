/** The connection itself, with a peer that writes its frames by hand. */
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { acceptSocket } from "portico/browser";
import { waitForText, until } from "../../support/until.ts";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { NodeSocket, MAX_FRAME } from "../../../plugins/nodes/node-socket.ts";

const HEARTBEAT_MS = 100;
/** A frame without content. */
const PING = "\x89\0";

/** A socket that listens for its heartbeat, and the other end's bare socket. */
async function pair(): Promise<{
  nodeSocket: NodeSocket;
  peer: Socket;
  messages: unknown[];
  end(): void;
}> {
  const messages: unknown[] = [];
  const server = createServer();
  const accepted = new Promise<NodeSocket>((resolve, reject) => {
    server.on("upgrade", (req, socket, head) => {
      acceptSocket(req, socket, head, { maxMessageBytes: MAX_FRAME }, (ws) => {
        const nodeSocket = new NodeSocket(ws, {
          parse: (message) => message,
          message: (message) => void messages.push(message),
          chunk: async () => {},
          closed() {},
        });
        nodeSocket.watch(HEARTBEAT_MS);
        return nodeSocket;
      }).then(resolve, reject);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const peer = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const head = [
    "host: x",
    "connection: upgrade",
    "upgrade: websocket",
    "sec-websocket-version: 13",
  ];
  peer.write(
    `GET / HTTP/1.1\r\n${head.join("\r\n")}\r\nsec-websocket-key: ${"A".repeat(22)}==\r\n\r\n`,
  );
  await waitForText(peer, "\r\n\r\n");
  const nodeSocket = await accepted;
  const end = (): void => {
    peer.destroy();
    server.close();
  };
  return { nodeSocket, peer, messages, end };
}

test("a large message that comes slowly is a sign of life", async () => {
  const { nodeSocket, peer, messages, end } = await pair();
  try {
    const text = Buffer.from(JSON.stringify("slow and large"));
    // A masked text frame whose mask is nothing; its content follows byte by byte, one for each ping.
    peer.write(Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]));
    for (const byte of text) {
      await waitForText(peer, PING);
      peer.write(Buffer.from([byte]));
    }
    await until("the message", () => messages.length > 0);
    assert.equal(messages, ["slow and large"]);
    assert.ok(nodeSocket.open);
  } finally {
    end();
  }
});

test("a silent connection is cut", async () => {
  const { nodeSocket, peer, end } = await pair();
  try {
    const closed = once(peer, "close");
    peer.resume();
    await closed;
    assert.not(nodeSocket.open);
  } finally {
    end();
  }
});

test.run();
