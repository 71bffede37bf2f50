/** One end of the connection between gateway and node: messages, parts of files, heartbeat. */
import type { Socket } from "node:net";
import type { PorticoError } from "portico";
import { closeSocket, dialSocket, readMessages, type WebSocket } from "portico/browser";
import { errors } from "./errors.ts";
import { type Chunk, CHUNK, MAX_MESSAGE, packChunk, unpackChunk } from "./wire.ts";

/** The maximum size in bytes of a frame: a message, or a part of a file with its header. */
export const MAX_FRAME = MAX_MESSAGE + 1024;
const HANDSHAKE_MS = 10_000;
const SILENT_AFTER = 2.5;

interface NodeSocketEvents<M> {
  /** Throws for a message that the other side may not send. */
  parse(message: unknown): M;
  message(message: M): void;
  /** Pauses the socket until the promise settles. Never rejects. */
  chunk(chunk: Chunk): Promise<void>;
  /** Called once when the connection ends, whatever the cause. */
  closed(code: number, reason: string): void;
}

/** Callbacks during the transfer of a file. */
export interface TransferCallbacks {
  /** Called before each part. False stops the transfer. */
  isWanted(): boolean;
  /** Called after each part has been sent. */
  sent?(): void;
}

/** `M` is the type of the messages from the other side. */
export class NodeSocket<M = unknown> {
  readonly #socket: WebSocket;
  #timer: NodeJS.Timeout | undefined;
  #pendingWrites = 0;
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
      binary: (content) => void this.#pauseDuring(events.chunk(unpackChunk(content))),
    });
  }

  /** Pauses the socket while a part of a file is being written, so that a slow disk slows the sender down. */
  async #pauseDuring(writing: Promise<void>): Promise<void> {
    if (this.#pendingWrites++ === 0) this.#socket.pause();
    await writing;
    this.lastSeen = Date.now();
    if (--this.#pendingWrites === 0) this.#socket.resume();
  }

  /** Sends pings, and terminates a connection on which nothing arrives any more. */
  watch(heartbeatMs: number): void {
    clearInterval(this.#timer);
    this.lastSeen = Date.now();
    let lastTick = Date.now();
    let bytesAtLastTick = this.#bytesRead;
    this.#timer = setInterval(() => {
      // A message is reported only when it is complete. For a large one, bytes since the last tick are the sign of life.
      if (this.#bytesRead !== bytesAtLastTick) this.lastSeen = Math.max(this.lastSeen, lastTick);
      bytesAtLastTick = this.#bytesRead;
      // If this process was suspended, it has not read yet what arrived meanwhile.
      const wasSuspended = Date.now() - lastTick > heartbeatMs * 1.5;
      lastTick = Date.now();
      const isSilent = lastTick - this.lastSeen > heartbeatMs * SILENT_AFTER;
      if (isSilent && !wasSuspended && this.#pendingWrites === 0) this.#socket.terminate();
      else if (this.open) this.#socket.ping(() => {});
    }, heartbeatMs);
    this.#timer.unref();
  }

  /** The IP address of the other side. */
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

  /**
   * Resolves when the message has been written to the socket. Never rejects: `closed` reports the end of the connection.
   */
  send(message: object): Promise<void> {
    return this.#send(JSON.stringify(message));
  }

  /** Sends a message that is already serialised. */
  sendText(text: string): Promise<void> {
    return this.#send(text);
  }

  #send(data: string | Buffer): Promise<void> {
    return new Promise((resolve) => {
      if (this.open) this.#socket.send(data, () => resolve());
      else resolve();
    });
  }

  /**
   * Sends a file in parts, each after the previous one is written. Resolves with false if the connection ended or the
   * receiver cancelled.
   */
  async stream(
    id: number,
    stream: number,
    parts: AsyncIterable<Buffer>,
    callbacks: TransferCallbacks,
  ): Promise<boolean> {
    for await (const part of parts) {
      for (let at = 0; at < part.length; at += CHUNK) {
        if (!this.open || !callbacks.isWanted()) return false;
        await this.#send(packChunk(id, stream, part.subarray(at, at + CHUNK)));
        callbacks.sent?.();
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

/** The gateway's HTTP response, if it refused the WebSocket. */
export interface Refusal {
  status: number;
  code?: string;
  message?: string;
}

/**
 * Opens a WebSocket; `opened` receives the socket before anything is read from it. If the gateway refuses the connection,
 * rejects with a `PorticoError` whose details hold the `Refusal`.
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
        reject(refusalError({ status: res.statusCode ?? 0, ...parseErrorBody(text) }));
      });
    });
    socket.once("error", (error) => {
      done();
      reject(error);
    });
    if (signal.aborted) abort();
  });
}

function refusalError(refusal: Refusal): PorticoError {
  const { status } = refusal;
  return errors.refused({ status }, { status, details: { refusal } });
}

/** Returns the code and message in the gateway's response, if it has the form of an error. */
function parseErrorBody(text: string): { code?: string; message?: string } {
  try {
    const { error } = JSON.parse(text) as { error?: { code?: unknown; message?: unknown } };
    return typeof error?.code === "string" && typeof error.message === "string"
      ? { code: error.code, message: error.message }
      : {};
  } catch {
    return {};
  }
}
