import { type AddressInfo, createServer, type Socket } from "node:net";

/**
 * Starts a server on raw sockets, so that it does not limit the results. `handle` receives each request, whose body needs a
 * `content-length`, as text. Sends the port to the parent process.
 */
export function serveRaw(handle: (socket: Socket, head: string, body: string) => void): void {
  const server = createServer((socket) => {
    socket.setNoDelay(true);
    socket.on("error", () => {});
    let buffered = "";
    socket.on("data", (bytes) => {
      buffered += bytes.toString("latin1");
      for (;;) {
        const end = buffered.indexOf("\r\n\r\n");
        if (end === -1) return;
        const head = buffered.slice(0, end);
        const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
        if (buffered.length < end + 4 + length) return;
        const body = buffered.slice(end + 4, end + 4 + length);
        buffered = buffered.slice(end + 4 + length);
        handle(socket, head, body);
      }
    });
  });
  server.listen(0, "127.0.0.1", () =>
    process.send?.({ port: (server.address() as AddressInfo).port }),
  );
}
