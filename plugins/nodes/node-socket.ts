/** One end of the connection between gateway and node: messages, parts of files, heartbeat. */
import type { Socket } from "node:net";
import type { PorticoError } from "portico";
import { closeSocket, dialSocket, readMessages, type WebSocket } from "portico/browser";
import { errors } from "./errors.ts";
import { type Chunk, CHUNK, MAX_MESSAGE, packChunk, unpackChunk } from "./wire.ts";

/** A frame is a message, or a part of a file with its head. */
export const MAX_FRAME = MAX_MESSAGE + 1024;
const HANDSHAKE_MS = 10_000;
const SILENT_AFTER = 2.5;

interface NodeSocketEvents<M> {
  /** Throws for a message that the other side may not send. */
  parse(message: unknown): M;
  message(message: M): void;
  /** No further part is read from the socket until it is settled. Never rejects. */
  chunk(chunk: Chunk): Promise<void>;
  /** Once, however it ended. */
  closed(code: number, reason: string): void;
}

/** How a file's way is followed. */
export interface Following {
  /** Asked before each part. */
  goesOn(): boolean;
  /** A part has left. */
  sent?(): void;
}

/** `M`: what the other side says. */
export class NodeSocket<M = unknown> {
  readonly #socket: WebSocket;
  #timer: NodeJS.Timeout | undefined;
  #reading = 0;
  lastSeen = Date.now();

  constructor(socket: WebSocket, events: NodeSocketEvents<M>) {
    this.#socket = socket;
    const noteSignOfLife = (): void => {
      this.lastSeen = Date.now();
    };
    socket.on("ping", noteSignOfLife);
    socket.on("pong", noteSignOfLife);
    socket.on("close", (code, reason) => {
      clearInterval(this.#timer);
      events.closed(code, reason.toString("utf8"));
    });
    socket.on("message", noteSignOfLife);
    readMessages(socket, {
      json: (message) => events.message(events.parse(message)),
      binary: (content) => void this.#take(events.chunk(unpackChunk(content))),
    });
  }

  /** While a file's part is being written nothing more is read: a slow disk slows the other side. */
  async #take(writing: Promise<void>): Promise<void> {
    if (this.#reading++ === 0) this.#socket.pause();
    await writing;
    this.lastSeen = Date.now();
    if (--this.#reading === 0) this.#socket.resume();
  }

  /** Pings, and cuts a connection on which nothing comes any more. */
  watch(heartbeatMs: number): void {
    clearInterval(this.#timer);
    this.lastSeen = Date.now();
    let ticked = Date.now();
    let read = this.#bytesRead;
    this.#timer = setInterval(() => {
      // A large message is announced only when it is complete. Until then, bytes since the last tick are the sign of life.
      if (this.#bytesRead !== read) this.lastSeen = Math.max(this.lastSeen, ticked);
      read = this.#bytesRead;
      // After a pause of this process's own, what came meanwhile has not been read yet.
      const wasAway = Date.now() - ticked > heartbeatMs * 1.5;
      ticked = Date.now();
      const isSilent = ticked - this.lastSeen > heartbeatMs * SILENT_AFTER;
      if (isSilent && !wasAway && this.#reading === 0) this.#socket.terminate();
      else if (this.open) this.#socket.ping(() => {});
    }, heartbeatMs);
    this.#timer.unref();
  }

  /** Of the other side. */
  get remoteAddress(): string {
    return this.#tcp?.remoteAddress ?? "";
  }

  get #bytesRead(): number {
    return this.#tcp?.bytesRead ?? 0;
  }

  get #tcp(): Socket | undefined {
    return (this.#socket as unknown as { _socket?: Socket | null })._socket ?? undefined;
  }

  get open(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }

  /** Settles when the message has left this process. Never rejects: `closed` reports a connection that has ended. */
  send(message: object): Promise<void> {
    return this.#send(JSON.stringify(message));
  }

  /** Sends a text that was measured before. */
  sendText(text: string): Promise<void> {
    return this.#send(text);
  }

  #send(data: string | Buffer): Promise<void> {
    return new Promise((resolve) => {
      if (this.open) this.#socket.send(data, () => resolve());
      else resolve();
    });
  }

  /** Sends a file in parts, each when the one before has left. False where the connection ended, or nobody wants it. */
  async stream(
    id: number,
    stream: number,
    parts: AsyncIterable<Buffer>,
    follow: Following,
  ): Promise<boolean> {
    for await (const part of parts) {
      for (let at = 0; at < part.length; at += CHUNK) {
        if (!this.open || !follow.goesOn()) return false;
        await this.#send(packChunk(id, stream, part.subarray(at, at + CHUNK)));
        follow.sent?.();
      }
    }
    await this.#send(packChunk(id, stream, Buffer.alloc(0)));
    return this.open;
  }

  close(code: number, reason: string): void {
    closeSocket(this.#socket, code, reason);
  }

  terminate(): void {
    this.#socket.terminate();
  }
}

/** The gateway's answer was no WebSocket. */
export interface Refusal {
  status: number;
  code?: string;
  message?: string;
}

/**
 * Connects out; `opened` gets the socket before anything was read from it. Rejects with a `PorticoError` whose details
 * hold the `Refusal` where the gateway answered one.
 */
export async function dial<T>(
  url: string,
  headers: Record<string, string>,
  signal: AbortSignal,
  opened: (socket: WebSocket) => T,
): Promise<T> {
  const socket = await dialSocket(url, {
    headers,
    handshakeMs: HANDSHAKE_MS,
    maxMessageBytes: MAX_FRAME,
  });
  return new Promise((resolve, reject) => {
    const abort = (): void => socket.terminate();
    signal.addEventListener("abort", abort, { once: true });
    const done = (): void => signal.removeEventListener("abort", abort);
    socket.once("open", () => {
      done();
      resolve(opened(socket));
    });
    socket.once("unexpected-response", (_req, res) => {
      const chunks: Buffer[] = [];
      res.on("data", (chunk: Buffer) => {
        if (chunks.length < 64) chunks.push(chunk);
      });
      res.once("close", () => {
        done();
        socket.terminate();
        const text = Buffer.concat(chunks).toString("utf8");
        reject(refused({ status: res.statusCode ?? 0, ...errorIn(text) }));
      });
    });
    socket.once("error", (error) => {
      done();
      reject(error);
    });
    if (signal.aborted) abort();
  });
}

function refused(refusal: Refusal): PorticoError {
  const { status } = refusal;
  return errors.refused({ status }, { status, details: { refusal } });
}

/** The code and message in the gateway's answer, where it has the form of an error. */
function errorIn(text: string): { code?: string; message?: string } {
  try {
    const { error } = JSON.parse(text) as { error?: { code?: unknown; message?: unknown } };
    return typeof error?.code === "string" && typeof error.message === "string"
      ? { code: error.code, message: error.message }
      : {};
  } catch {
    return {};
  }
}
