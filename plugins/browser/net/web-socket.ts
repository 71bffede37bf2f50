/** WebSockets for plugins, either end. The library is loaded with the first of them: a start does not pay for it. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { errors } from "../errors.ts";
import type { WebSocket } from "ws";

export type { WebSocket };

/** A side that does not answer the farewell is cut off after this, ms. */
const FAREWELL_MS = 1000;

export interface AcceptOptions {
  /** A larger message ends the connection with 1009; bytes. */
  maxMessageBytes: number;
  /** Of the subprotocols that are offered, the one that is taken. */
  protocol?: string;
}

/**
 * Completes an upgrade whose credentials were checked. `taken` gets the socket before anything is read from it; what it
 * returns is the answer. Rejects, for the upgrade's handler to be the refusal, with 400 `invalid_request_error` where the
 * handshake is none, and with 499 `client_closed` where the other side left during it.
 */
export async function acceptSocket<T>(
  req: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  { maxMessageBytes, protocol }: AcceptOptions,
  taken: (ws: WebSocket) => T,
): Promise<T> {
  const { WebSocketServer } = await import("ws");
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: maxMessageBytes,
    // One that was not offered must not be named: a browser would refuse it.
    handleProtocols: (offered) =>
      protocol !== undefined && offered.has(protocol) ? protocol : false,
  });
  return new Promise((resolve, reject) => {
    const left = (): void => reject(errors.socketLeft());
    server.once("wsClientError", ({ message }) => {
      reject(
        errors.notAHandshake({ problem: message }, { headers: { "sec-websocket-version": "13" } }),
      );
    });
    if (socket.destroyed) return left();
    socket.once("close", left);
    server.handleUpgrade(req, socket, head, (ws) => {
      tolerate(ws);
      resolve(taken(ws));
    });
  });
}

export interface DialOptions {
  maxMessageBytes: number;
  headers?: Record<string, string>;
  /** Default: no limit. */
  handshakeMs?: number;
}

/** A socket that begins to connect: it tells by `open`, `unexpected-response` or `error`. No redirect is followed. */
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
  tolerate(socket);
  return socket;
}

/** Hands each message on. One that cannot be read, or whose taker throws, ends the connection with 1002. */
export function readMessages(
  socket: WebSocket,
  take: { json(message: unknown): void; binary?(content: Buffer): void },
): void {
  socket.on("message", (data: Buffer, isBinary: boolean) => {
    try {
      if (isBinary && take.binary !== undefined) take.binary(data);
      else take.json(JSON.parse(data.toString("utf8")));
    } catch {
      closeSocket(socket, 1002, "The frame is not valid.");
    }
  });
}

/** Takes leave, and does not wait long for the other side's farewell. */
export function closeSocket(socket: WebSocket, code: number, reason: string): void {
  socket.close(code, reason);
  setTimeout(() => socket.terminate(), FAREWELL_MS).unref();
}

/** An error without a listener would end the process; the library closes the socket by itself. */
function tolerate(socket: WebSocket): void {
  socket.on("error", () => {});
}
