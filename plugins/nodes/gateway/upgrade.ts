/** The upgrade request of a node on the gateway's own port. */
import type { IncomingMessage } from "node:http";
import { type PluginContext, PorticoError } from "portico";
import { acceptSocket } from "portico/browser";
import { type Accept, handOn, takeOver } from "./hand-on.ts";
import { HEADER, NAME, PATH, PROTOCOL } from "../wire.ts";
import type { ConnectingNode, Registry } from "./registry.ts";

/** What is wrong with a node is told as an HTTP error, before any WebSocket is there. */
export function acceptNodes(ctx: PluginContext, registry: Registry): void {
  const workers = ctx.find("workers");
  const accept: Accept = async (node, req, socket, head) => {
    const [{ MAX_FRAME }, connect] = await Promise.all([
      import("../node-socket.ts"),
      registry.prepare(),
    ]);
    await acceptSocket(req, socket, head, { maxMessageBytes: MAX_FRAME }, (ws) =>
      connect(node, ws),
    );
  };
  const isFirst = workers === undefined || workers.index === 0;
  if (workers && isFirst) takeOver(ctx, workers, (node) => registry.admit(node), accept);
  ctx.upgrade(PATH, { access: "gateway" }, async (req, socket, head, address) => {
    const node = { ...connecting(ctx, req), address };
    if (!isFirst) return handOn(workers, { node, headers: req.headers }, socket, head);
    registry.admit(node);
    await accept(node, req, socket, head);
  });
}

function connecting(ctx: PluginContext, req: IncomingMessage): Omit<ConnectingNode, "address"> {
  const header = (name: string): string => String(req.headers[name] ?? "");
  const protocol = header(HEADER.protocol);
  if (protocol !== String(PROTOCOL)) {
    throw new PorticoError(
      "version_mismatch",
      `This gateway (Portico ${ctx.version}) speaks version ${PROTOCOL} of the node protocol, the node version ${protocol.slice(0, 10) || "none"}: update the older of the two.`,
      { status: 426, headers: { upgrade: "websocket" } },
    );
  }
  const name = decoded(header(HEADER.name));
  if (!NAME.test(name)) {
    throw new PorticoError(
      "invalid_request_error",
      "The node's name must begin with a letter or digit and hold only letters, digits, spaces and . _ - (at most 63).",
      { param: "name" },
    );
  }
  const identity = header(HEADER.identity);
  if (!/^[\w-]{8,64}$/.test(identity)) {
    throw new PorticoError(
      "invalid_request_error",
      `The header ${HEADER.identity} is missing or malformed.`,
    );
  }
  return { name, identity };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
