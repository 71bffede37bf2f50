/**
 * Handles WebSocket upgrades, with the same guards and credentials as for requests. Refusals are written to the raw
 * socket.
 */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { errors } from "./errors.ts";
import type { Access, UpgradeHandler } from "../contract/index.ts";
import { findCallerAddress } from "../net/address.ts";
import type { RequestsOptions } from "./requests.ts";
import { clientRequestId, mintId } from "./request/context.ts";
import { logFailure, publicError } from "./response/errors.ts";
import { endRaw } from "./response/raw.ts";

export interface UpgradeRoute {
  access: Access;
  origins?: readonly string[];
  handler: UpgradeHandler;
}

/** Checks an upgrade and hands the socket to its handler, or sends a refusal and closes the socket. */
export async function handleUpgrade(
  { server, guards, auth, forms }: Omit<RequestsOptions, "connections" | "changeWatchers">,
  find: (path: string) => UpgradeRoute | undefined,
  req: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  const id = clientRequestId(req) ?? mintId();
  const path = (req.url as string).split("?")[0] as string;
  // Node has removed its own listeners; without one, a reset would end the process.
  socket.on("error", () => socket.destroy());
  try {
    const route = find(path);
    guards.check(req, { origins: route?.origins });
    if (!route) throw errors.noWebSocket({ path: path.slice(0, 200) });
    const address = findCallerAddress(req, server.settings().trustedProxies);
    await auth.authenticate(req, route.access, { address });
    if (!socket.destroyed) await route.handler(req, socket, head, address);
  } catch (failure) {
    logFailure(server.log, failure, id, path);
    const error = publicError(failure, id);
    server.log.info({ id, method: "GET", path, status: error.status }, "request");
    endRaw(socket, error, id, forms.render({ path, req }, error, id));
  }
}

/**
 * WebSocket is the only protocol that the server upgrades to. Node 24 asks before it treats a request as an upgrade;
 * earlier versions do so at every offer.
 */
export const isWebSocket = (req: IncomingMessage): boolean =>
  req.headers.upgrade?.toLowerCase() === "websocket";

/**
 * Some clients (Java's among them) offer HTTP/2 with `Upgrade: h2c` on plain requests, which a server is free to
 * ignore. Where Node has treated such a request as an upgrade, this puts it back without the offer.
 */
export function ignoreUpgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void {
  let text = `${req.method} ${req.url} HTTP/${req.httpVersion}\r\n`;
  for (let i = 0; i < req.rawHeaders.length; i += 2) {
    const name = req.rawHeaders[i] as string;
    if (!/^(upgrade|http2-settings)$/i.test(name)) text += `${name}: ${req.rawHeaders[i + 1]}\r\n`;
  }
  socket.unshift(Buffer.concat([Buffer.from(`${text}\r\n`, "latin1"), head]));
}
