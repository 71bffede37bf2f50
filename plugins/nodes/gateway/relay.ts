/**
 * Nodes belong to the first worker, which has the browsers. If another worker receives the upgrade request, it checks the
 * node and then relays bytes over a loopback connection, which begins with a ticket from the first worker.
 */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { PluginContext, Workers } from "portico";
import type { ConnectingNode } from "./registry.ts";

const FIRST_WORKER = 0;
const TOPIC = "nodes:ticket";
const TICKET_BYTES = 32;
/** The lifetime of a ticket. It can be short because the other worker uses a ticket at once. */
const VALID_MS = 10_000;
/** The response to a node with an invalid handshake. It is raw bytes, because the node's worker only relays them. */
const BAD_REQUEST = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

interface AnnouncedNode {
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

/** Runs in the first worker: accepts nodes that another worker relays. `admit` throws if a node must be refused. */
export function acceptRelayedNodes(
  ctx: PluginContext,
  workers: Workers,
  admit: (node: ConnectingNode) => void,
  accept: Accept,
): void {
  const expectedNodes = new Map<string, AnnouncedNode>();
  let listeningPort: Promise<number> | undefined;

  async function listenForWorkers(): Promise<number> {
    const server = createServer({ noDelay: true }, (socket) => {
      socket.on("error", () => socket.destroy());
      const timeout = setTimeout(() => socket.destroy(), VALID_MS);
      void readTicket(socket).then((code) => {
        clearTimeout(timeout);
        const announced = code && expectedNodes.get(code);
        if (!code || !announced) return void socket.destroy();
        expectedNodes.delete(code);
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
    workers.on(TOPIC, async (announced: AnnouncedNode): Promise<Ticket> => {
      admit(announced.node);
      listeningPort ??= listenForWorkers().catch((error: unknown) => {
        listeningPort = undefined; // the cause, such as a lack of free ports, may be gone for the next node
        throw error;
      });
      const code = randomBytes(TICKET_BYTES);
      const key = code.toString("hex");
      expectedNodes.set(key, announced);
      setTimeout(() => expectedNodes.delete(key), VALID_MS).unref();
      return { port: await listeningPort, code };
    }),
  );
}

/**
 * Runs in every other worker: relays a node to the first worker. Rejects with the first worker's error if it refuses the
 * node.
 */
export async function relayToFirstWorker(
  workers: Workers,
  announced: AnnouncedNode,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  const { port, code } = await workers.ask<Ticket>(FIRST_WORKER, TOPIC, announced);
  if (socket.destroyed) return; // nothing would notify the first worker that the node has disconnected
  const workerSocket = connect({ port, host: "127.0.0.1", noDelay: true });
  const end = () => {
    workerSocket.destroy();
    socket.destroy();
  };
  for (const side of [workerSocket, socket]) side.on("error", end).on("close", end);
  workerSocket.write(code);
  if (head.length > 0) workerSocket.write(head);
  socket.pipe(workerSocket).pipe(socket);
}

/**
 * Resolves with undefined if the connection ends before the ticket is complete. It keeps one listener, because Node calls
 * each new one at once.
 */
function readTicket(socket: Socket): Promise<string | undefined> {
  return new Promise((resolve) => {
    const readCode = () => {
      const code = socket.read(TICKET_BYTES) as Buffer | null;
      if (code === null && !socket.destroyed) return;
      socket.off("readable", readCode).off("close", readCode);
      resolve(code?.length === TICKET_BYTES ? code.toString("hex") : undefined);
    };
    socket.on("readable", readCode).on("close", readCode);
  });
}

/** The part of the upgrade request that `accept` needs. */
function upgradeRequest({ headers }: AnnouncedNode): IncomingMessage {
  return { method: "GET", headers } as IncomingMessage;
}
