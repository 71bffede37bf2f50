/**
 * Nodes belong to the worker that has the browsers. Where another one is asked for the upgrade, it checks the node and then
 * passes bytes on, over a loopback connection that begins with a ticket from the first worker.
 */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { PluginContext, Workers } from "portico";
import type { ConnectingNode } from "./registry.ts";

const FIRST = 0;
const TOPIC = "nodes:ticket";
const TICKET_BYTES = 32;
/** A ticket is used at once. */
const VALID_MS = 10_000;
/** To a node whose handshake is none; the worker that it reached only passes bytes on. */
const BAD_REQUEST = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

interface Announced {
  node: ConnectingNode;
  headers: IncomingMessage["headers"];
}

interface Ticket {
  port: number;
  code: Buffer;
}

export type Accept = (
  node: ConnectingNode,
  req: IncomingMessage,
  socket: Duplex,
  head: Buffer,
) => Promise<void>;

/** In the first worker: takes over nodes that come in by another one. `admit` throws where one is not to come. */
export function takeOver(
  ctx: PluginContext,
  workers: Workers,
  admit: (node: ConnectingNode) => void,
  accept: Accept,
): void {
  const expected = new Map<string, Announced>();
  let door: Promise<number> | undefined;

  async function open(): Promise<number> {
    const server = createServer({ noDelay: true }, (socket) => {
      socket.on("error", () => socket.destroy());
      const late = setTimeout(() => socket.destroy(), VALID_MS);
      void readTicket(socket).then((code) => {
        clearTimeout(late);
        const announced = code && expected.get(code);
        if (!code || !announced) return void socket.destroy();
        expected.delete(code);
        accept(announced.node, upgradeRequest(announced), socket, Buffer.alloc(0)).catch(() =>
          socket.end(BAD_REQUEST),
        );
      });
    });
    ctx.defer(() => void server.close());
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  }

  ctx.defer(
    workers.on(TOPIC, async (announced: Announced): Promise<Ticket> => {
      admit(announced.node);
      door ??= open().catch((error: unknown) => {
        door = undefined; // what was lacking, such as a free port, may be there for the next one
        throw error;
      });
      const code = randomBytes(TICKET_BYTES);
      const key = code.toString("hex");
      expected.set(key, announced);
      setTimeout(() => expected.delete(key), VALID_MS).unref();
      return { port: await door, code };
    }),
  );
}

/** In another worker. Rejects with what the first one has against the node. */
export async function handOn(
  workers: Workers,
  announced: Announced,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  const { port, code } = await workers.ask<Ticket>(FIRST, TOPIC, announced);
  if (socket.destroyed) return; // nobody would tell the first worker that the node has gone
  const onward = connect({ port, host: "127.0.0.1", noDelay: true });
  const end = () => {
    onward.destroy();
    socket.destroy();
  };
  for (const side of [onward, socket]) side.on("error", end).on("close", end);
  onward.write(code);
  if (head.length > 0) onward.write(head);
  socket.pipe(onward).pipe(socket);
}

/** Undefined where the connection ends before it is complete. There is one listener: each new one is called at once with what has arrived. */
function readTicket(socket: Socket): Promise<string | undefined> {
  return new Promise((resolve) => {
    const look = () => {
      const code = socket.read(TICKET_BYTES) as Buffer | null;
      if (code === null && !socket.destroyed) return;
      socket.off("readable", look).off("close", look);
      resolve(code?.length === TICKET_BYTES ? code.toString("hex") : undefined);
    };
    socket.on("readable", look).on("close", look);
  });
}

/** What completing the upgrade needs of it. */
function upgradeRequest({ headers }: Announced): IncomingMessage {
  return { method: "GET", headers } as IncomingMessage;
}
