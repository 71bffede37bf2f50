/** The WebSocket library: the only file of the plugin that imports it. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocket, WebSocketServer } from "ws";

export { WebSocket };

export const MAX_MESSAGE_BYTES = 256 << 20;

let server: WebSocketServer | undefined;

/** Completes an upgrade whose credentials were checked. Of the subprotocols that are offered, `protocol` is taken. */
export function acceptSocket(
  req: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  protocol?: string,
): Promise<WebSocket> {
  server ??= new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES,
    // One that was not offered must not be named: a browser would refuse it.
    handleProtocols: (offered, request) => {
      const wanted = (request as { protocol?: string }).protocol;
      return wanted !== undefined && offered.has(wanted) ? wanted : false;
    },
  });
  return new Promise((resolve, reject) => {
    socket.once("close", () => reject(new Error("The socket closed during the handshake.")));
    server!.handleUpgrade(Object.assign(req, { protocol }), socket, head, resolve);
  });
}
