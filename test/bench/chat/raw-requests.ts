import { type AddressInfo, createServer, type Socket } from "node:net";

/**
 * A server on raw sockets, so that it is never what is measured: each request with a `content-length` is handed over as
 * text. Tells the parent process its port.
 */
export function serveRaw(handle: (socket: Socket, head: string, body: string) => void): void {
  const server = createServer((socket) => {
    socket.setNoDelay(true);
    socket.on("error", () => {});
    let held = "";
    socket.on("data", (bytes) => {
      held += bytes.toString("latin1");
      for (;;) {
        const end = held.indexOf("\r\n\r\n");
        if (end === -1) return;
        const head = held.slice(0, end);
        const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
        if (held.length < end + 4 + length) return;
        const body = held.slice(end + 4, end + 4 + length);
        held = held.slice(end + 4 + length);
        handle(socket, head, body);
      }
    });
  });
  server.listen(0, "127.0.0.1", () =>
    process.send?.({ port: (server.address() as AddressInfo).port }),
  );
}
