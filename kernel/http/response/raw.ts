import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { PorticoError } from "../../errors.ts";
import type { RenderedError } from "./errors.ts";

/** Sends an error over a socket that has no `ServerResponse`. */
export function endRaw(
  socket: Duplex,
  error: PorticoError,
  id: string,
  rendered: RenderedError,
): void {
  if (!socket.writable) return void socket.destroy();
  const { body } = rendered;
  const headers = Object.entries({
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(body),
    "x-request-id": id,
    "x-content-type-options": "nosniff",
    connection: "close",
    ...rendered.headers,
    ...error.headers,
  });
  const lines = [`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? "Error"}`];
  for (const [name, value] of headers) lines.push(`${name}: ${value}`);
  socket.end(`${lines.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}
