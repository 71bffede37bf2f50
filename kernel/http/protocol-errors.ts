/** Handles clients that break HTTP, or send a head too slowly. */
import type { Duplex } from "node:stream";
import type { PorticoError } from "../errors.ts";
import { errors } from "./errors.ts";
import type { ConnectionState } from "./connections.ts";
import { mintId } from "./request/context.ts";
import { type ErrorForms, UNREAD_REQUEST } from "./response/errors.ts";
import { endRaw } from "./response/raw.ts";

/**
 * Ends the connection: after the response if the last request arrived completely, with the error as the response if
 * none has begun, otherwise at once.
 */
export function endBroken(
  failure: NodeJS.ErrnoException,
  socket: Duplex,
  connection: ConnectionState,
  forms: ErrorForms,
): void {
  const { count, call } = connection;
  // A connection without its TLS handshake cannot carry a response.
  const isLost = /^(ECONNRESET|ERR_SSL_|ERR_TLS_)/.test(failure.code ?? "") || !socket.writable;
  if (!isLost && call?.req.complete) {
    if (call.plain.shouldKeepAlive) call.plain.once("finish", () => call.req.socket.destroySoon());
    call.plain.shouldKeepAlive = false;
    return;
  }
  if (isLost || count > 1 || call?.plain.headersSent) {
    socket.destroy();
    return;
  }
  const id = call?.id ?? mintId();
  const error = protocolError(failure.code);
  endRaw(socket, error, id, forms.render(call ?? UNREAD_REQUEST, error, id));
}

function protocolError(code: string | undefined): PorticoError {
  if (code === "HPE_HEADER_OVERFLOW") return errors.headTooLarge();
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return errors.headTooSlow();
  return errors.malformed();
}
