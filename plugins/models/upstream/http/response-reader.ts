/**
 * Reads HTTP/1.1 responses from the bytes of one connection: heads, and bodies by length, in chunks or up to the end of
 * the connection (RFC 9112). Whatever leaves a doubt where a response ends makes the connection unfit for another one:
 * a response must never reach the caller of the next request.
 */
import type { IncomingHttpHeaders } from "node:http";
import { hasToken, lengthOf, nameOf, parseHead, ProtocolError } from "./response-head.ts";

export interface ResponseEvents {
  /** Interim responses (1xx) too. */
  head(status: number, headers: IncomingHttpHeaders): void;
  /** What one read brought of the body, freed of its chunk lines. */
  data(bytes: Buffer): void;
  /** The response is complete. `reusable`: the next one may come over the same connection. */
  end(reusable: boolean): void;
}

const MAX_HEAD_BYTES = 64 * 1024;
const MAX_LINE_BYTES = 4096;
/** A server may send hints, and say that it is at work: some of them, not a stream of them. */
const MAX_INTERIM = 10;
/** 2^52 bytes are 13 hex digits. */
const MAX_SIZE_DIGITS = 13;

const TAB = 9;
const CR = 13;
const LF = 10;
const SEMICOLON = 59;
const DEL = 127;

enum State {
  /** No response is expected. */
  Idle,
  Head,
  /** A body of known length. */
  Length,
  /** A body that ends with the connection. */
  Rest,
  Size,
  SizeExtension,
  SizeEnd,
  Chunk,
  ChunkEnd,
  Trailer,
  TrailerLine,
  TrailerLineEnd,
  TrailerEnd,
}

export class ResponseReader {
  readonly #events: ResponseEvents;
  #state = State.Idle;
  #held: Buffer | undefined;
  #left = 0;
  #digits = 0;
  #lineBytes = 0;
  #trailer = "";
  #reusable = false;
  /** Interim responses of the request that is under way. */
  #interim = 0;

  constructor(events: ResponseEvents) {
    this.#events = events;
  }

  /** A request goes out: one response may come. */
  expect(): void {
    this.#state = State.Head;
    this.#interim = 0;
  }

  /** Takes ownership of the bytes: chunks are joined in place. Throws `ProtocolError`. */
  push(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      switch (this.#state) {
        case State.Idle:
          throw new ProtocolError("bytes that belong to no response");
        case State.Head: {
          const held = this.#held;
          if (held !== undefined) {
            this.#held = undefined;
            this.push(Buffer.concat([held, at === 0 ? bytes : bytes.subarray(at)]));
            return;
          }
          at = this.#readHead(bytes, at);
          break;
        }
        case State.Length: {
          const to = Math.min(bytes.length, at + this.#left);
          this.#left -= to - at;
          this.#events.data(at === 0 && to === bytes.length ? bytes : bytes.subarray(at, to));
          at = to;
          if (this.#left === 0) this.#end(at === bytes.length);
          break;
        }
        case State.Rest:
          this.#events.data(at === 0 ? bytes : bytes.subarray(at));
          return;
        default:
          at = this.#readChunks(bytes, at);
      }
    }
  }

  /** The connection has ended. False where that cuts a response short. */
  close(): boolean {
    if (this.#state === State.Rest) this.#end(false);
    return this.#state === State.Idle;
  }

  #end(noSurplus: boolean): void {
    this.#state = State.Idle;
    this.#events.end(this.#reusable && noSurplus);
  }

  #readHead(bytes: Buffer, from: number): number {
    const end = bytes.indexOf("\r\n\r\n", from, "latin1");
    if (end === -1) {
      if (bytes.length - from > MAX_HEAD_BYTES)
        throw new ProtocolError("the head of the response is too large");
      // a server of another protocol may never send a line's end
      if (!"HTTP/1.".startsWith(bytes.toString("latin1", from, from + 7)))
        throw new ProtocolError("not an HTTP/1.1 response");
      this.#held = bytes.subarray(from);
      return bytes.length;
    }
    if (end - from > MAX_HEAD_BYTES)
      throw new ProtocolError("the head of the response is too large");
    const { status, minor, headers } = parseHead(bytes.toString("latin1", from, end));
    const next = end + 4;
    if (status < 200) {
      if (++this.#interim > MAX_INTERIM)
        throw new ProtocolError(`more than ${MAX_INTERIM} interim responses`);
      if (minor === 0) throw new ProtocolError("an interim response of HTTP/1.0");
      if (status === 101) throw new ProtocolError("a switch of protocols that was not asked for");
      this.#events.head(status, headers);
      return next;
    }
    this.#frame(status, minor, headers);
    const empty = this.#state === State.Length && this.#left === 0;
    this.#events.head(status, headers);
    if (empty) this.#end(next === bytes.length);
    return next;
  }

  /** Where the body ends (RFC 9112, section 6.3). */
  #frame(status: number, minor: number, headers: IncomingHttpHeaders): void {
    const connection = headers.connection?.toLowerCase();
    this.#reusable =
      minor === 1
        ? connection === undefined || !hasToken(connection, "close")
        : hasToken(connection ?? "", "keep-alive");
    const coding = headers["transfer-encoding"]?.trim().toLowerCase();
    const text = headers["content-length"];
    const length = text === undefined ? undefined : lengthOf(text);
    const isEmpty = status === 204 || status === 304;
    if (coding !== undefined && coding !== "identity" && coding !== "chunked")
      throw new ProtocolError("a transfer coding that was not asked for");
    // somebody on the way may have read another end
    if (coding !== undefined && (length !== undefined || minor === 0 || isEmpty))
      this.#reusable = false;
    this.#left = 0;
    this.#state = State.Length;
    if (isEmpty) return;
    if (coding === "chunked") {
      this.#state = State.Size;
      this.#digits = 0;
      this.#lineBytes = 0;
    } else if (length !== undefined) this.#left = length;
    else this.#state = State.Rest;
  }

  /** Reads on in a chunked body. The data of all chunks at hand is moved together and told at once. */
  #readChunks(bytes: Buffer, from: number): number {
    let at = from;
    let start = -1;
    let to = -1;
    const end = bytes.length;
    while (at < end) {
      if (this.#state === State.Chunk) {
        const count = Math.min(end - at, this.#left);
        if (start === -1) start = to = at;
        if (to !== at) bytes.copyWithin(to, at, at + count);
        to += count;
        at += count;
        this.#left -= count;
        if (this.#left === 0) this.#state = State.ChunkEnd;
        continue;
      }
      if (this.#readLine(bytes[at++]!)) {
        if (start !== -1) this.#events.data(bytes.subarray(start, to));
        this.#end(at === end);
        return at;
      }
    }
    if (start !== -1) this.#events.data(bytes.subarray(start, to));
    return at;
  }

  /** One byte around the chunks. True at the end of the body. */
  #readLine(byte: number): boolean {
    switch (this.#state) {
      case State.Size: {
        const digit = hexDigit(byte);
        if (digit >= 0) {
          if (++this.#digits > MAX_SIZE_DIGITS)
            throw new ProtocolError("a chunk of impossible size");
          this.#left = this.#left * 16 + digit;
          return false;
        }
        if (this.#digits === 0) throw new ProtocolError("a chunk without a size");
        if (byte === CR) this.#state = State.SizeEnd;
        else if (byte === SEMICOLON) this.#state = State.SizeExtension;
        else throw new ProtocolError("a chunk's size that is no number");
        return false;
      }
      case State.SizeExtension:
        if (byte === CR) this.#state = State.SizeEnd;
        else this.#lineByte(byte);
        return false;
      case State.SizeEnd:
        mustBe(byte, LF);
        this.#digits = 0;
        this.#lineBytes = 0;
        this.#state = this.#left === 0 ? State.Trailer : State.Chunk;
        return false;
      case State.ChunkEnd:
        if (byte === CR && this.#digits === 0) {
          this.#digits = 1;
          return false;
        }
        mustBe(byte, this.#digits === 0 ? CR : LF);
        this.#digits = 0;
        this.#state = State.Size;
        return false;
      case State.Trailer:
        this.#state = byte === CR ? State.TrailerEnd : State.TrailerLine;
        this.#trailer = "";
        return byte !== CR && this.#readLine(byte);
      case State.TrailerLine:
        if (byte === CR) this.#state = State.TrailerLineEnd;
        else {
          this.#lineByte(byte);
          this.#trailer += String.fromCharCode(byte);
        }
        return false;
      case State.TrailerLineEnd:
        mustBe(byte, LF);
        nameOf(this.#trailer);
        this.#state = State.Trailer;
        return false;
      default:
        mustBe(byte, LF);
        return true;
    }
  }

  /** One byte of an extension or a trailer, which are read over. All of a body's trailers count together. */
  #lineByte(byte: number): void {
    if ((byte < 32 && byte !== TAB) || byte === DEL)
      throw new ProtocolError("a line of the body with a control character");
    if (++this.#lineBytes > MAX_LINE_BYTES)
      throw new ProtocolError("a line of the body is too long");
  }
}

function mustBe(byte: number, expected: number): void {
  if (byte !== expected) throw new ProtocolError("a chunk that does not end where it should");
}

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}
