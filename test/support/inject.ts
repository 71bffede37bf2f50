/** Sends a request through the whole path of a server, including parser and guards, without a socket. */
import { type Duplex, duplexPair } from "node:stream";

/** Sends bytes. Resolves with everything that the server sends until it closes the connection. */
export function inject(
  server: { accept(socket: Duplex): void },
  bytes: string | Buffer,
): Promise<string> {
  const [client, serverSocket] = duplexPair();
  let received = "";
  const ended = new Promise<string>((resolve) =>
    client.on("end", () => client.end(() => resolve(received))),
  );
  client.on("data", (chunk: Buffer) => (received += chunk.toString("latin1")));
  server.accept(
    Object.defineProperties(serverSocket, {
      remoteAddress: { value: "127.0.0.1" },
      bytesWritten: { get: () => received.length },
      destroySoon: { value: () => serverSocket.end() },
    }),
  );
  client.write(bytes);
  return ended;
}
