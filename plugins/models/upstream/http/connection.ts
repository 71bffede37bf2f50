/** A kept-alive connection to an upstream. It sends a request, receives its response, then the next. */
import type { IncomingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import type { BodySource, WireRequest } from "portico/provider";
import { type ResponseEvents, ResponseReader } from "./response-reader.ts";
import { TurnBudget } from "./turn-budget.ts";

/** Receives one response. After `end` or `fail` no method is called. */
export interface ResponseReceiver {
  head(status: number, headers: IncomingHttpHeaders): void;
  data(bytes: Buffer): void;
  end(): void;
  fail(error: Error): void;
}

export interface ConnectionEvents {
  /** The connection may carry the next request. */
  idle(connection: Connection): void;
  /** The connection has closed, for any reason. Called once. */
  closed(connection: Connection): void;
}

/** The budget that all connections share. */
const turnBudget = new TurnBudget();

/** Up to this size, a copy into one string is cheaper than a second write. */
const ONE_WRITE_BYTES = 16 * 1024;

export class Connection implements ResponseEvents {
  /**
   * The number of sweeps of its pool for which it has been idle. Counting them avoids reading a clock for each request.
   */
  sweeps = 0;
  readonly #socket: Socket;
  readonly #events: ConnectionEvents;
  readonly #reader: ResponseReader = new ResponseReader(this);
  #receiver: ResponseReceiver | undefined;
  #keepAlive: string | undefined;
  #error: Error | undefined;
  /** A body that is not in memory is being sent. */
  #isSendingBody = false;
  /** The receiver has paused the response. */
  #isPaused = false;
  /** The connection waits for the next turn, because the byte budget of this one is used up. */
  #waitsForTurn = false;

  constructor(socket: Socket, events: ConnectionEvents) {
    this.#socket = socket;
    this.#events = events;
    // A socket with `ownReading` emits no such event.
    socket.on("data", (bytes: Buffer) => this.read(bytes));
    socket.on("end", () => {
      if (!this.#reader.close()) this.#error ??= closedError();
    });
    socket.on("error", (error) => {
      this.#error ??= error;
    });
    socket.on("close", () => {
      this.#events.closed(this);
      this.#fail(this.#error ?? closedError());
    });
  }

  /**
   * The seconds for which the server keeps an idle connection, by the last response's `Keep-Alive` (RFC 2068, 19.7.1);
   * infinite without it.
   */
  get idleTimeoutS(): number {
    const seconds = /\btimeout=(\d+)/i.exec(this.#keepAlive ?? "")?.[1];
    return seconds === undefined ? Number.POSITIVE_INFINITY : Number(seconds);
  }

  /** Sends a request. `head` contains its lines without the final empty one, which this method adds. */
  send(
    head: string,
    { body, coding }: Pick<WireRequest, "body" | "coding">,
    receiver: ResponseReceiver,
  ): void {
    this.#receiver = receiver;
    this.#reader.expect();
    const socket = this.#socket;
    if (body === undefined) {
      socket.write(`${head}\r\n`, "latin1");
      return;
    }
    if (isSource(body)) {
      this.#isSendingBody = true;
      sendBody(`${head}content-length: ${body.length}\r\n\r\n`, body, socket).then(
        (isComplete) => {
          this.#isSendingBody = !isComplete;
        },
        (error: Error) => this.destroy(error),
      );
      return;
    }
    const isText = typeof body === "string";
    const length = isText && coding === undefined ? Buffer.byteLength(body) : body.length;
    const start = `${head}content-length: ${length}\r\n\r\n`;
    if (isText) socket.write(start + body, coding);
    // Latin-1 keeps each byte, so head and body are sent in one write.
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

  /** Closes the connection, and fails the response if a receiver still waits for it. */
  destroy(error?: Error): void {
    this.#error ??= error;
    this.#socket.destroy();
  }

  /** Closes the connection without notifying the receiver. */
  drop(): void {
    this.#receiver = undefined;
    this.#socket.destroy();
  }

  /** Handles bytes from the socket, and takes ownership of them. */
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
    const receiver = this.#receiver;
    this.#receiver = undefined;
    receiver?.fail(error);
  }

  // ------------------------------------------------------------------------------------- from the reader

  head(status: number, headers: IncomingHttpHeaders): void {
    this.#keepAlive = headers["keep-alive"] as string | undefined;
    this.#receiver?.head(status, headers);
  }

  data(bytes: Buffer): void {
    this.#receiver?.data(bytes);
  }

  end(reusable: boolean): void {
    const receiver = this.#receiver;
    this.#receiver = undefined;
    const socket = this.#socket;
    // If the response arrived before the request was completely sent, the rest of the request is still being sent.
    if (!reusable || this.#isSendingBody || socket.writableLength > 0 || socket.destroyed)
      socket.destroy();
    else {
      this.#isPaused = false;
      if (socket.isPaused() && !this.#waitsForTurn) socket.resume();
      this.#events.idle(this);
    }
    receiver?.end();
  }
}

function isSource(body: string | Buffer | BodySource): body is BodySource {
  return typeof body !== "string" && !Buffer.isBuffer(body);
}

interface RawWritable {
  /** Streams pass "buffer" internally, but the types lack it. */
  _write(
    bytes: Buffer,
    encoding: "buffer" | BufferEncoding,
    done: (error?: Error | null) => void,
  ): void;
}

/** Sends a body chunk by chunk, as fast as the server reads it. Resolves to false if the server closes before the end. */
async function sendBody(head: string, source: BodySource, socket: Socket): Promise<boolean> {
  if (!(await writeBytes(Buffer.from(head, "latin1"), socket))) return false;
  for await (const bytes of source.open()) if (!(await writeBytes(bytes, socket))) return false;
  return true;
}

/**
 * Writes bytes to the socket below its stream, which destroys a socket at the first failed write. A server that refuses
 * a body before it is complete closes the connection right after its response, which would then be lost unread. The
 * socket keeps reading to its end, and the code that waits for the response is notified of that end.
 */
function writeBytes(bytes: Buffer, socket: Socket): Promise<boolean> {
  const rawSocket: RawWritable = socket;
  return new Promise((resolve) => {
    rawSocket._write(bytes, "buffer", (error) => resolve(error == null && !socket.destroyed));
  });
}

function closedError(): Error {
  return Object.assign(new Error("the server closed the connection"), { code: "ECONNRESET" });
}
