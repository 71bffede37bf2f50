/** The upgrade request of a node on the gateway's own port. */
import type { IncomingMessage } from "node:http";
import type { PluginContext } from "portico";
import { acceptSocket } from "portico/browser";
import { errors } from "../errors.ts";
import { type Accept, handOn, takeOver } from "./hand-on.ts";
import { HEADER, NAME, PATH, PROTOCOL } from "../wire.ts";
import type { ConnectingNode, Registry } from "./registry.ts";

/** Refuses a node with an HTTP error, before a WebSocket is opened. */
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
    throw errors.otherProtocol(
      { version: ctx.version, own: PROTOCOL, theirs: protocol.slice(0, 10) || "none" },
      { headers: { upgrade: "websocket" } },
    );
  }
  const name = decoded(header(HEADER.name));
  if (!NAME.test(name)) {
    throw errors.badNodeName({ param: "name" });
  }
  const identity = header(HEADER.identity);
  if (!/^[\w-]{8,64}$/.test(identity)) throw errors.badIdentity({ header: HEADER.identity });
  return { name, identity };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
