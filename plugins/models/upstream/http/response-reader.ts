/**
 * Reads HTTP/1.1 responses from the bytes of one connection: heads, and bodies with a length, in chunks, or up to the
 * end of the connection (RFC 9112). A connection is reused only if the end of the response is certain: a response must
 * never reach the caller of the next request.
 */
import type { IncomingHttpHeaders } from "node:http";
import { ChunkedBody } from "./chunked-body.ts";
import { type Head, hasToken, parseLength, parseHead, ProtocolError } from "./response-head.ts";

export interface ResponseEvents {
  /** Also called for interim responses (1xx). */
  head(status: number, headers: IncomingHttpHeaders): void;
  /** The part of the body in one read of the socket, without the framing of chunks. */
  data(bytes: Buffer): void;
  /** The response is complete. `reusable`: the connection may carry the next one. */
  end(reusable: boolean): void;
}

const MAX_HEAD_BYTES = 64 * 1024;
/** A server may send hints and progress, but not without limit. */
const MAX_INTERIM = 10;

/** The element to which the next bytes belong. */
enum State {
  /** No response is expected. */
  Idle,
  Head,
  /** A body of known length. */
  Length,
  Chunked,
  /** A body that ends with the connection. */
  Rest,
}

export class ResponseReader {
  readonly #events: ResponseEvents;
  #state = State.Idle;
  /** The beginning of an incomplete head. */
  #incompleteHead: Buffer | undefined;
  /** Remaining bytes of a body of known length. */
  #remaining = 0;
  #chunks: ChunkedBody | undefined;
  #isReusable = false;
  /** Interim responses to the current request. */
  #interimCount = 0;

  constructor(events: ResponseEvents) {
    this.#events = events;
  }

  /** Expects one response, because a request is being sent. */
  expect(): void {
    this.#state = State.Head;
    this.#interimCount = 0;
  }

  /** Reads bytes and takes ownership of them: the data of chunks is moved together in them. Throws `ProtocolError`. */
  push(bytes: Buffer): void {
    const input = this.#joinHead(bytes);
    let at = 0;
    while (at < input.length) at = this.#read(input, at);
  }

  /** Handles the end of the connection. Returns false if it cuts off a response. */
  close(): boolean {
    if (this.#state === State.Rest) this.#end(false);
    return this.#state === State.Idle;
  }

  #joinHead(bytes: Buffer): Buffer {
    const beginning = this.#incompleteHead;
    if (beginning === undefined) return bytes;
    this.#incompleteHead = undefined;
    return Buffer.concat([beginning, bytes]);
  }

  /** Reads one element of a response, and returns the position after it. */
  #read(bytes: Buffer, from: number): number {
    switch (this.#state) {
      case State.Idle:
        throw new ProtocolError("bytes that belong to no response");
      case State.Head:
        return this.#readHead(bytes, from);
      case State.Length:
        return this.#readLength(bytes, from);
      case State.Chunked:
        return this.#readChunks(bytes, from);
      case State.Rest:
        this.#events.data(from === 0 ? bytes : bytes.subarray(from));
        return bytes.length;
    }
  }

  #readLength(bytes: Buffer, from: number): number {
    const end = Math.min(bytes.length, from + this.#remaining);
    this.#remaining -= end - from;
    this.#events.data(from === 0 && end === bytes.length ? bytes : bytes.subarray(from, end));
    if (this.#remaining === 0) this.#end(end === bytes.length);
    return end;
  }

  #readChunks(bytes: Buffer, from: number): number {
    const chunks = this.#chunks!;
    const end = chunks.read(bytes, from);
    if (chunks.isComplete) this.#end(end === bytes.length);
    return end;
  }

  /** `noSurplus`: no bytes followed the response. */
  #end(noSurplus: boolean): void {
    this.#state = State.Idle;
    this.#chunks = undefined;
    this.#events.end(this.#isReusable && noSurplus);
  }

  #readHead(bytes: Buffer, from: number): number {
    const end = bytes.indexOf("\r\n\r\n", from, "latin1");
    const size = (end === -1 ? bytes.length : end) - from;
    if (size > MAX_HEAD_BYTES) throw new ProtocolError("a response whose head is too large");
    if (end === -1) {
      this.#holdHead(bytes, from);
      return bytes.length;
    }
    const head = parseHead(bytes.toString("latin1", from, end));
    const next = end + 4;
    if (head.status < 200) {
      this.#checkInterim(head);
      this.#events.head(head.status, head.headers);
      return next;
    }
    this.#frame(head);
    const isEmpty = this.#state === State.Length && this.#remaining === 0;
    this.#events.head(head.status, head.headers);
    if (isEmpty) this.#end(next === bytes.length);
    return next;
  }

  /**
   * Keeps the beginning of a head until the rest arrives. Rejects another protocol at once, since its server may never
   * send such an end.
   */
  #holdHead(bytes: Buffer, from: number): void {
    if (!"HTTP/1.".startsWith(bytes.toString("latin1", from, from + 7)))
      throw new ProtocolError("not an HTTP/1.1 response");
    this.#incompleteHead = bytes.subarray(from);
  }

  #checkInterim({ status, minor }: Head): void {
    this.#interimCount++;
    if (this.#interimCount > MAX_INTERIM)
      throw new ProtocolError(`more than ${MAX_INTERIM} interim responses`);
    if (minor === 0) throw new ProtocolError("an interim response in HTTP/1.0");
    if (status === 101)
      throw new ProtocolError("a switch of protocols that the request did not ask for");
  }

  /** Determines where the body ends (RFC 9112, section 6.3), and whether the connection may carry another response. */
  #frame({ status, minor, headers }: Head): void {
    const coding = headers["transfer-encoding"]?.trim().toLowerCase();
    const text = headers["content-length"];
    const length = text === undefined ? undefined : parseLength(text);
    const isEmpty = status === 204 || status === 304;
    if (coding !== undefined && coding !== "identity" && coding !== "chunked")
      throw new ProtocolError("a transfer coding that the request did not ask for");
    // A proxy in between may have determined another end.
    const isAmbiguous = coding !== undefined && (length !== undefined || minor === 0 || isEmpty);
    this.#isReusable = isPersistent(minor, headers) && !isAmbiguous;
    this.#remaining = 0;
    this.#state = State.Length;
    if (isEmpty) return;
    if (coding === "chunked") {
      this.#state = State.Chunked;
      this.#chunks = new ChunkedBody(this.#events);
    } else if (length !== undefined) this.#remaining = length;
    else this.#state = State.Rest;
  }
}

/** Whether the server keeps the connection open (RFC 9112, section 9.3). */
function isPersistent(minor: number, { connection }: IncomingHttpHeaders): boolean {
  const options = connection?.toLowerCase() ?? "";
  return minor === 1 ? !hasToken(options, "close") : hasToken(options, "keep-alive");
}
