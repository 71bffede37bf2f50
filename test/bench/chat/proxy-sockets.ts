/** The least that a proxy in Node can cost: HTTP/1.1 by hand on both sides, for peers that send what is expected. */
import { connect, type Socket } from "node:net";
import { forwarded } from "./proxy-request.ts";
import { serveRaw } from "./raw-requests.ts";

const HEAD =
  "POST /v1/chat/completions HTTP/1.1\r\nhost: upstream\r\ncontent-type: application/json\r\n";

/** Tells the parent process its port. */
export function socketProxy(upstream: number): void {
  const idle: Socket[] = [];
  serveRaw((client, head, text) => {
    const body = forwarded(/\r\nauthorization: ([^\r]*)/i.exec(head)?.[1] ?? "", text);
    if (typeof body === "number") {
      client.write(`HTTP/1.1 ${body} Refused\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    const socket = idle.pop() ?? connect(upstream, "127.0.0.1").setNoDelay(true);
    const ends = endOfResponse();
    const onData = (bytes: Buffer) => {
      if (!client.write(bytes)) {
        socket.pause();
        client.once("drain", () => socket.resume());
      }
      if (!ends(bytes)) return;
      socket.off("data", onData);
      idle.push(socket);
    };
    socket.on("data", onData);
    socket.write(`${HEAD}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  });
}

/** Tells of each read whether it is the response's last one. */
function endOfResponse(): (bytes: Buffer) => boolean {
  let left: number | undefined;
  let isChunked = false;
  return (bytes) => {
    if (left === undefined && !isChunked) {
      const end = bytes.indexOf("\r\n\r\n") + 4;
      const length = /\r\ncontent-length: (\d+)/i.exec(bytes.toString("latin1", 0, end))?.[1];
      isChunked = length === undefined;
      left = isChunked ? undefined : Number(length) + end;
    }
    if (left !== undefined) {
      left -= bytes.length;
      return left <= 0;
    }
    return bytes.toString("latin1", bytes.length - 5) === "0\r\n\r\n";
  };
}
