/** The load of the chat benchmark, over raw sockets. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Subject } from "../harness/built.ts";
import type { StreamPlan } from "./chat-parts.ts";

/** A format of clients: its route, a streamed request in it, and a text that only the last event of a whole stream holds. */
interface ClientFormat {
  path: string;
  body(text: string): object;
  end: string;
}

const model = "main/bench-model";
const inMessages = (text: string) => ({ messages: [{ role: "user", content: text }] });
const CLIENTS = {
  chat: { path: "/v1/chat/completions", body: inMessages, end: "[DONE]" },
  messages: {
    path: "/v1/messages",
    body: (text) => ({ ...inMessages(text), max_tokens: 1000 }),
    end: '"message_stop"',
  },
  responses: {
    path: "/v1/responses",
    body: (text) => ({ input: text, store: false }),
    end: "event: response.completed",
  },
} satisfies Record<string, ClientFormat>;

export type Client = keyof typeof CLIENTS;

export function requestOf(subject: Subject, body: object): Buffer {
  const messages = [{ role: "user", content: "hello ".repeat(60) }];
  return bytesOf(subject, "POST", CLIENTS.chat.path, { model, messages, ...body });
}

/** A request as it goes over the wire. */
export function bytesOf(
  { port, headers }: Pick<Subject, "port" | "headers">,
  method: string,
  path: string,
  body?: object,
): Buffer {
  const head = `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n${headers}`;
  if (body === undefined) return Buffer.from(`${head}\r\n`);
  const text = JSON.stringify(body);
  const length = Buffer.byteLength(text);
  return Buffer.from(
    `${head}content-type: application/json\r\ncontent-length: ${length}\r\n\r\n${text}`,
  );
}

export async function open(subject: Pick<Subject, "port">): Promise<Socket> {
  const socket = connect(subject.port, "127.0.0.1").setNoDelay(true);
  await once(socket, "connect");
  return socket;
}

/** One whole answer on a connection. Its length is read from the head once. */
export function exchange(socket: Socket, request: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    let seen = 0;
    let wanted = 0;
    const onData = (bytes: Buffer) => {
      if (wanted === 0) {
        const end = bytes.indexOf("\r\n\r\n");
        const head = bytes.toString("latin1", 0, end);
        if (!head.startsWith("HTTP/1.1 2")) reject(new Error(bytes.toString("utf8", 0, 500)));
        wanted = end + 4 + Number(/content-length: (\d+)/i.exec(head)?.[1]);
      }
      seen += bytes.length;
      if (seen < wanted) return;
      socket.off("data", onData);
      resolve();
    };
    socket.on("data", onData);
    socket.write(request);
  });
}

/** A whole stream on a connection of its own, read to its end. */
export async function streamOnce(
  subject: Subject,
  plan: StreamPlan,
  read?: (bytes: Buffer) => void,
): Promise<StreamRead> {
  const socket = await open(subject);
  const done = await streamOn(socket, subject, plan, read);
  socket.destroy();
  return done;
}

export interface StreamRead {
  firstMs: number;
  bytes: number;
  complete: boolean;
}

/** The same on a connection that is open. */
export async function streamOn(
  socket: Socket,
  subject: Subject,
  plan: StreamPlan,
  read?: (bytes: Buffer) => void,
  client: Client = "chat",
): Promise<StreamRead> {
  const { path, body, end }: ClientFormat = CLIENTS[client];
  const began = performance.now();
  let firstMs = 0;
  let bytes = 0;
  let tail = "";
  let complete = false;
  // upstreams of other formats find the plan in the message
  const own = body(`${JSON.stringify(plan)} ${"hello ".repeat(54)}`);
  const bench = client === "chat" ? plan : undefined;
  socket.write(bytesOf(subject, "POST", path, { model, stream: true, bench, ...own }));
  await new Promise<void>((resolve, reject) => {
    const onData = (part: Buffer) => {
      if (firstMs === 0) firstMs = performance.now() - began;
      bytes += part.length;
      read?.(part);
      // A text that lies across two reads is in the end of the first and the beginning of the second.
      complete ||= part.includes(end) || (tail + part.toString("latin1", 0, 40)).includes(end);
      tail = (tail + part.toString("latin1", Math.max(0, part.length - 40))).slice(-40);
      if (!tail.endsWith("0\r\n\r\n")) return;
      for (const [event, listener] of listeners) socket.off(event, listener);
      resolve();
    };
    const listeners = [
      ["data", onData],
      ["error", reject],
      ["close", resolve],
    ] as const;
    for (const [event, listener] of listeners) socket.on(event, listener);
  });
  return { firstMs, bytes, complete };
}
