/** Handles the upgrade requests by which nodes connect to the gateway's port. */
import type { IncomingMessage } from "node:http";
import type { PluginContext } from "portico";
import { acceptSocket } from "portico/browser";
import { errors } from "../errors.ts";
import { type Accept, relayToFirstWorker, acceptRelayedNodes } from "./relay.ts";
import { HEADER, NAME, PATH, PROTOCOL } from "../wire.ts";
import type { ConnectingNode, Registry } from "./registry.ts";

/** Registers the upgrade route. It refuses a node with an HTTP error, before the WebSocket is opened. */
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
  if (workers && isFirst) acceptRelayedNodes(ctx, workers, (node) => registry.admit(node), accept);
  ctx.upgrade(PATH, { access: "gateway" }, async (req, socket, head, address) => {
    const node = { ...readConnectingNode(ctx, req), address };
    if (!isFirst) return relayToFirstWorker(workers, { node, headers: req.headers }, socket, head);
    registry.admit(node);
    await accept(node, req, socket, head);
  });
}

function readConnectingNode(
  ctx: PluginContext,
  req: IncomingMessage,
): Omit<ConnectingNode, "address"> {
  const header = (name: string): string => String(req.headers[name] ?? "");
  const protocol = header(HEADER.protocol);
  if (protocol !== String(PROTOCOL)) {
    throw errors.otherProtocol(
      { version: ctx.version, own: PROTOCOL, theirs: protocol.slice(0, 10) || "none" },
      { headers: { upgrade: "websocket" } },
    );
  }
  const name = decodeOrEmpty(header(HEADER.name));
  if (!NAME.test(name)) {
    throw errors.badNodeName({ param: "name" });
  }
  const identity = header(HEADER.identity);
  if (!/^[\w-]{8,64}$/.test(identity)) throw errors.badIdentity({ header: HEADER.identity });
  return { name, identity };
}

function decodeOrEmpty(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
