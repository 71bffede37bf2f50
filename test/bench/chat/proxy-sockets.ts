/** The cheapest possible proxy in Node: it parses HTTP/1.1 itself on both sides, and relies on well-behaved peers. */
import { connect, type Socket } from "node:net";
import { checkRequest } from "./proxy-request.ts";
import { serveRaw } from "./raw-requests.ts";

const HEAD =
  "POST /v1/chat/completions HTTP/1.1\r\nhost: upstream\r\ncontent-type: application/json\r\n";

/** Starts the proxy, and sends its port to the parent process. */
export function socketProxy(upstream: number): void {
  const idle: Socket[] = [];
  serveRaw((client, head, text) => {
    const body = checkRequest(/\r\nauthorization: ([^\r]*)/i.exec(head)?.[1] ?? "", text);
    if (typeof body === "number") {
      client.write(`HTTP/1.1 ${body} Refused\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    const socket = idle.pop() ?? connect(upstream, "127.0.0.1").setNoDelay(true);
    const isLastRead = createEndDetector();
    const onData = (bytes: Buffer) => {
      if (!client.write(bytes)) {
        socket.pause();
        client.once("drain", () => socket.resume());
      }
      if (!isLastRead(bytes)) return;
      socket.off("data", onData);
      idle.push(socket);
    };
    socket.on("data", onData);
    socket.write(`${HEAD}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  });
}

/** Returns a function that is true for the last read of a response. */
function createEndDetector(): (bytes: Buffer) => boolean {
  let remainingBytes: number | undefined;
  let isChunked = false;
  return (bytes) => {
    if (remainingBytes === undefined && !isChunked) {
      const end = bytes.indexOf("\r\n\r\n") + 4;
      const length = /\r\ncontent-length: (\d+)/i.exec(bytes.toString("latin1", 0, end))?.[1];
      isChunked = length === undefined;
      remainingBytes = isChunked ? undefined : Number(length) + end;
    }
    if (remainingBytes !== undefined) {
      remainingBytes -= bytes.length;
      return remainingBytes <= 0;
    }
    return bytes.toString("latin1", bytes.length - 5) === "0\r\n\r\n";
  };
}
