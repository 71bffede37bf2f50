/**
 * Server and client WebSockets for plugins. The library is loaded at first use, so that it does not slow down the
 * start.
 */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { errors } from "../errors.ts";
import type { WebSocket } from "ws";

export type { WebSocket };

/** The time in ms after which a peer that does not answer the close frame is disconnected. */
const CLOSE_TIMEOUT_MS = 1000;

export interface AcceptOptions {
  /** The maximum message size in bytes. A larger message closes the connection with 1009. */
  maxMessageBytes: number;
  /** The subprotocol to select if the client offers it. */
  protocol?: string;
}

/**
 * Completes an upgrade whose credentials were checked. `onAccept` receives the socket before anything is read from it;
 * its result is returned. Rejects with a 400 `invalid_request_error` if the handshake is invalid, and with a 499
 * `client_closed` if the client disconnected during it; the upgrade handler turns the error into the refusal.
 */
export async function acceptSocket<T>(
  req: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  { maxMessageBytes, protocol }: AcceptOptions,
  onAccept: (ws: WebSocket) => T,
): Promise<T> {
  const { WebSocketServer } = await import("ws");
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: maxMessageBytes,
    // A browser rejects a subprotocol that it did not offer.
    handleProtocols: (offeredProtocols) =>
      protocol !== undefined && offeredProtocols.has(protocol) ? protocol : false,
  });
  return new Promise((resolve, reject) => {
    const onDisconnect = (): void => reject(errors.socketClosed());
    server.once("wsClientError", ({ message }) => {
      reject(
        errors.notAHandshake({ problem: message }, { headers: { "sec-websocket-version": "13" } }),
      );
    });
    if (socket.destroyed) return onDisconnect();
    socket.once("close", onDisconnect);
    server.handleUpgrade(req, socket, head, (ws) => {
      ignoreErrors(ws);
      resolve(onAccept(ws));
    });
  });
}

export interface DialOptions {
  maxMessageBytes: number;
  headers?: Record<string, string>;
  /** The timeout of the handshake in ms. Default: no limit. */
  handshakeMs?: number;
}

/**
 * Begins to connect a socket. It reports the result with `open`, `unexpected-response` or `error`. Redirects are not
 * followed.
 */
export async function dialSocket(
  url: string,
  { maxMessageBytes, headers = {}, handshakeMs }: DialOptions,
): Promise<WebSocket> {
  const { WebSocket } = await import("ws");
  const socket = new WebSocket(url, {
    headers,
    perMessageDeflate: false,
    maxPayload: maxMessageBytes,
    handshakeTimeout: handshakeMs,
  });
  ignoreErrors(socket);
  return socket;
}

/**
 * Passes each message to a handler. A message that cannot be parsed, or whose handler throws, closes the connection
 * with 1002.
 */
export function readMessages(
  socket: WebSocket,
  handlers: { json(message: unknown): void; binary?(content: Buffer): void },
): void {
  socket.on("message", (data: Buffer, isBinary: boolean) => {
    try {
      if (isBinary && handlers.binary !== undefined) handlers.binary(data);
      else handlers.json(JSON.parse(data.toString("utf8")));
    } catch {
      closeSocket(socket, 1002, "The frame is not valid.");
    }
  });
}

/** Closes a socket, and does not wait long for the peer's close frame. */
export function closeSocket(socket: WebSocket, code: number, reason: string): void {
  socket.close(code, reason);
  setTimeout(() => socket.terminate(), CLOSE_TIMEOUT_MS).unref();
}

/** Ignores errors: without a listener they would end the process, and the library closes the socket by itself. */
function ignoreErrors(socket: WebSocket): void {
  socket.on("error", () => {});
}
