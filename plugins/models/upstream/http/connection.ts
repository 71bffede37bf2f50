/** One kept-alive connection to an upstream: a request goes out, its response comes back, then the next. */
import type { IncomingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import type { BodySource, WireRequest } from "portico/provider";
import { type ResponseEvents, ResponseReader } from "./response-reader.ts";
import { TurnBudget } from "./turn-budget.ts";

/** Receives one response. After `end` or `fail` no method is called. */
export interface Taker {
  head(status: number, headers: IncomingHttpHeaders): void;
  data(bytes: Buffer): void;
  end(): void;
  fail(error: Error): void;
}

export interface ConnectionEvents {
  /** It may carry the next request. */
  idle(connection: Connection): void;
  /** It has ended, for whatever reason. Called once. */
  gone(connection: Connection): void;
}

/** All connections share it. */
const turnBudget = new TurnBudget();

/** Up to here a copy into one string is cheaper than a second buffer to write. */
const ONE_WRITE_BYTES = 16 * 1024;

export class Connection implements ResponseEvents {
  /** How many of its pool's sweeps it has been idle for. Counting them saves reading a clock for each request. */
  sweeps = 0;
  readonly #socket: Socket;
  readonly #events: ConnectionEvents;
  readonly #reader: ResponseReader = new ResponseReader(this);
  #taker: Taker | undefined;
  #keepAlive: string | undefined;
  #error: Error | undefined;
  /** A body that is not held in memory is being sent. */
  #pouring = false;
  /** Its taker wants no more for now. */
  #isPaused = false;
  /** The bytes of this turn are spent. */
  #waitsForTurn = false;

  constructor(socket: Socket, events: ConnectionEvents) {
    this.#socket = socket;
    this.#events = events;
    // A socket that reads with `ownReading` has no such event.
    socket.on("data", (bytes: Buffer) => this.read(bytes));
    socket.on("end", () => {
      if (!this.#reader.close()) this.#error ??= closedError();
    });
    socket.on("error", (error) => {
      this.#error ??= error;
    });
    socket.on("close", () => {
      this.#events.gone(this);
      this.#fail(this.#error ?? closedError());
    });
  }

  /** How many seconds the server keeps it idle, by the last response's `Keep-Alive` (RFC 2068, 19.7.1); infinite without it. */
  get keptIdleS(): number {
    const seconds = /\btimeout=(\d+)/i.exec(this.#keepAlive ?? "")?.[1];
    return seconds === undefined ? Number.POSITIVE_INFINITY : Number(seconds);
  }

  /** `head`: the request's lines up to the empty one, which is left to `send`. */
  send(head: string, { body, coding }: Pick<WireRequest, "body" | "coding">, taker: Taker): void {
    this.#taker = taker;
    this.#reader.expect();
    const socket = this.#socket;
    if (body === undefined) {
      socket.write(`${head}\r\n`, "latin1");
      return;
    }
    if (isSource(body)) {
      this.#pouring = true;
      pour(`${head}content-length: ${body.length}\r\n\r\n`, body, socket).then(
        (whole) => {
          this.#pouring = !whole;
        },
        (error: Error) => this.destroy(error),
      );
      return;
    }
    const isText = typeof body === "string";
    const length = isText && coding === undefined ? Buffer.byteLength(body) : body.length;
    const start = `${head}content-length: ${length}\r\n\r\n`;
    if (isText) socket.write(start + body, coding);
    // Latin-1 is bytes as they are: head and body leave in one write.
    else if (body.length <= ONE_WRITE_BYTES)
      socket.write(start + body.toString("latin1"), "latin1");
    else {
      socket.cork();
      socket.write(start, "latin1");
      socket.write(body);
      socket.uncork();
    }
  }

  pause(): void {
    this.#isPaused = true;
    this.#socket.pause();
  }

  resume(): void {
    this.#isPaused = false;
    if (!this.#waitsForTurn) this.#socket.resume();
  }

  nextTurn(): void {
    this.#waitsForTurn = false;
    if (!this.#isPaused && !this.#socket.destroyed) this.#socket.resume();
  }

  /** Cuts the connection, and fails the response of a taker that is still waiting. */
  destroy(error?: Error): void {
    this.#error ??= error;
    this.#socket.destroy();
  }

  /** Cuts the connection; its taker has gone. */
  drop(): void {
    this.#taker = undefined;
    this.#socket.destroy();
  }

  /** What the socket has read; it belongs to the connection. */
  read(bytes: Buffer): void {
    try {
      this.#reader.push(bytes);
    } catch (error) {
      this.destroy(error as Error);
    }
    this.#spendTurn(bytes.length);
  }

  #spendTurn(size: number): void {
    if (this.#waitsForTurn || turnBudget.spend(size, this)) return;
    this.#waitsForTurn = true;
    this.#socket.pause();
  }

  #fail(error: Error): void {
    const taker = this.#taker;
    this.#taker = undefined;
    taker?.fail(error);
  }

  // ------------------------------------------------------------------------------------- from the reader

  head(status: number, headers: IncomingHttpHeaders): void {
    this.#keepAlive = headers["keep-alive"] as string | undefined;
    this.#taker?.head(status, headers);
  }

  data(bytes: Buffer): void {
    this.#taker?.data(bytes);
  }

  end(reusable: boolean): void {
    const taker = this.#taker;
    this.#taker = undefined;
    const socket = this.#socket;
    // A response that came before its request had gone out leaves the rest of it on the way.
    if (!reusable || this.#pouring || socket.writableLength > 0 || socket.destroyed)
      socket.destroy();
    else {
      this.#isPaused = false;
      if (socket.isPaused() && !this.#waitsForTurn) socket.resume();
      this.#events.idle(this);
    }
    taker?.end();
  }
}

function isSource(body: string | Buffer | BodySource): body is BodySource {
  return typeof body !== "string" && !Buffer.isBuffer(body);
}

interface BelowStream {
  /** Streams pass "buffer" themselves; the types lack it. */
  _write(
    bytes: Buffer,
    encoding: "buffer" | BufferEncoding,
    done: (error?: Error | null) => void,
  ): void;
}

/** As fast as the other side reads, a chunk at a time. Resolves to false where it has closed before the end. */
async function pour(head: string, source: BodySource, socket: Socket): Promise<boolean> {
  if (!(await written(Buffer.from(head, "latin1"), socket))) return false;
  for await (const bytes of source.open()) if (!(await written(bytes, socket))) return false;
  return true;
}

/**
 * Bypasses the stream, which destroys a socket at the first failed write. A server that refuses a body before it is
 * complete closes the connection right after its response, which would then be lost unread. The socket keeps reading to
 * its end, and the code that waits for the response learns of that end.
 */
function written(bytes: Buffer, socket: Socket): Promise<boolean> {
  const below: BelowStream = socket;
  return new Promise((resolve) => {
    below._write(bytes, "buffer", (error) => resolve(error == null && !socket.destroyed));
  });
}

function closedError(): Error {
  return Object.assign(new Error("the other side closed the connection"), { code: "ECONNRESET" });
}
