/** Generates the load of the chat benchmarks over raw sockets. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Subject } from "../harness/built.ts";
import type { StreamPlan } from "./chat-parts.ts";

/** A client format: its route, a streamed request, and a text that only the last event of a complete stream contains. */
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

export function chatRequest(subject: Subject, body: object): Buffer {
  const messages = [{ role: "user", content: "hello ".repeat(60) }];
  return encodeRequest(subject, "POST", CLIENTS.chat.path, { model, messages, ...body });
}

/** Encodes an HTTP request. */
export function encodeRequest(
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

/** Sends a request on a connection and reads the whole response, whose length comes from its head. */
export function exchange(socket: Socket, request: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    let receivedBytes = 0;
    let expectedBytes = 0;
    const onData = (bytes: Buffer) => {
      if (expectedBytes === 0) {
        const end = bytes.indexOf("\r\n\r\n");
        const head = bytes.toString("latin1", 0, end);
        if (!head.startsWith("HTTP/1.1 2")) reject(new Error(bytes.toString("utf8", 0, 500)));
        expectedBytes = end + 4 + Number(/content-length: (\d+)/i.exec(head)?.[1]);
      }
      receivedBytes += bytes.length;
      if (receivedBytes < expectedBytes) return;
      socket.off("data", onData);
      resolve();
    };
    socket.on("data", onData);
    socket.write(request);
  });
}

/** Opens a connection, and reads a stream to its end. */
export async function streamOnce(
  subject: Subject,
  plan: StreamPlan,
  read?: (bytes: Buffer) => void,
): Promise<StreamRead> {
  const socket = await open(subject);
  const result = await streamOn(socket, subject, plan, read);
  socket.destroy();
  return result;
}

export interface StreamRead {
  firstMs: number;
  bytes: number;
  complete: boolean;
}

/** Reads a stream to its end on an open connection. */
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
  // upstreams of other formats read the plan from the message
  const fields = body(`${JSON.stringify(plan)} ${"hello ".repeat(54)}`);
  const bench = client === "chat" ? plan : undefined;
  socket.write(encodeRequest(subject, "POST", path, { model, stream: true, bench, ...fields }));
  await new Promise<void>((resolve, reject) => {
    const onData = (part: Buffer) => {
      if (firstMs === 0) firstMs = performance.now() - began;
      bytes += part.length;
      read?.(part);
      // The text may be split across two reads, so the end of the previous read is checked with the beginning of this one.
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
