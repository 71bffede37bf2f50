/** A client that sends requests as exact bytes. */
import { connect, type Socket } from "node:net";
import { PATIENCE_MS } from "./until.ts";

/** A server that receives raw requests. */
export interface RawServer {
  port: number;
  /** Sends bytes without a socket. Resolves with everything that the server sends until it closes the connection. */
  send(bytes: string | Buffer): Promise<string>;
}

export interface RawResponse {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** Sends bytes over a socket, and reads until the other side closes it. */
export function exchange(port: number, bytes: string | Buffer): Promise<RawResponse> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes));
    collect(socket).then((text) => resolve(parseResponse(text)), reject);
  });
}

/** Resolves with everything that a socket receives until it closes. */
export function collect(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`the server did not close the connection; so far: ${text}`));
    }, PATIENCE_MS);
    socket.on("data", (chunk) => (text += chunk.toString("latin1")));
    socket.on("error", () => {});
    socket.resume();
    socket.on("close", () => {
      clearTimeout(timer);
      resolve(text);
    });
  });
}

export function parseResponse(text: string): RawResponse {
  const end = text.indexOf("\r\n\r\n");
  const [status = "", ...lines] = text.slice(0, end).split("\r\n");
  const headers = Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.indexOf(":")).toLowerCase(),
      line.slice(line.indexOf(":") + 1).trim(),
    ]),
  );
  return { status: Number(status.split(" ")[1]), headers, body: text.slice(end + 4) };
}

/** Returns a request head with `Connection: close`. `headers` may repeat names. */
export function head(
  method: string,
  path: string,
  headers: readonly (readonly [string, string])[],
): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return `${method} ${path} HTTP/1.1\r\n${lines}connection: close\r\n\r\n`;
}

/** Sends a request with exactly these headers, a `Host` unless they have one, and the length of a body. */
export async function ask(
  { port, send }: RawServer,
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body = "",
): Promise<RawResponse> {
  const all = {
    host: `127.0.0.1:${port}`,
    ...(body && { "content-length": String(Buffer.byteLength(body)) }),
    ...headers,
  };
  return parseResponse(await send(head(method, path, Object.entries(all)) + body));
}

export function codeOf(response: RawResponse): string {
  return (JSON.parse(response.body) as { error: { code: string } }).error.code;
}
