/** Reading request bodies: size, time, content type, JSON. */
import { isUtf8 } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { PorticoError } from "../errors.ts";

const EMPTY = Buffer.alloc(0);
/** A client must deliver this much within each `bodyTimeoutMs`: a trickle is as good as a stall. */
const STRIDE = 64 * 1024;
const MAX_DEPTH = 1000;

export interface BodyLimits {
  maxBytes: number;
  timeoutMs: number;
  /** Called right before the first byte is awaited; answers `Expect: 100-continue`. */
  begin?: () => void;
}

/** True where the head announces a body. */
export function hasBody(req: IncomingMessage): boolean {
  const length = req.headers["content-length"];
  return length === undefined ? req.headers["transfer-encoding"] !== undefined : length !== "0";
}

/**
 * The whole body. Rejects with `body_too_large`, `request_timeout`, `unsupported_media_type` (compressed), or
 * `client_closed` when the client leaves.
 */
export function readBody(req: IncomingMessage, { maxBytes, timeoutMs, begin }: BodyLimits): Promise<Buffer> {
  if (!hasBody(req)) return Promise.resolve(EMPTY);
  const encoding = req.headers["content-encoding"];
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    return Promise.reject(
      new PorticoError("unsupported_media_type", "Compressed request bodies are not taken. Send the body as it is."),
    );
  }
  const announced = req.headers["content-length"];
  if (announced !== undefined && Number(announced) > maxBytes) return Promise.reject(tooLarge(maxBytes));
  begin?.();

  return new Promise((resolve, reject) => new BodyReader(req, maxBytes, timeoutMs, resolve, reject));
}

/** Collects one body. A class, because a dozen closures for each request would show in the figures. */
class BodyReader {
  deadline: number;
  /** In the list of those that are awaited. */
  place = -1;
  readonly #timeoutMs: number;
  readonly #maxBytes: number;
  readonly #resolve: (body: Buffer) => void;
  readonly #reject: (error: PorticoError) => void;
  #chunks: Buffer[] | undefined = [];
  #size = 0;
  #nextStride = STRIDE;

  constructor(
    req: IncomingMessage,
    maxBytes: number,
    timeoutMs: number,
    resolve: (body: Buffer) => void,
    reject: (error: PorticoError) => void,
  ) {
    this.#maxBytes = maxBytes;
    this.#timeoutMs = timeoutMs;
    this.#resolve = resolve;
    this.#reject = reject;
    this.deadline = performance.now() + timeoutMs;
    watch(this);
    // Listeners stay until the request goes: taking them off costs more than calls that do nothing.
    // A request without a listener for "error" emits none; "close" always comes.
    req.on("data", (chunk: Buffer) => this.#take(chunk));
    req.on("end", () => this.#end());
    req.on("close", () => this.#gone());
    if (req.destroyed) this.#gone();
  }

  expire(): void {
    this.#fail(
      new PorticoError("request_timeout", "The request body did not arrive in time. Send it without long pauses."),
    );
  }

  #take(chunk: Buffer): void {
    if (!this.#chunks) return;
    this.#size += chunk.length;
    if (this.#size > this.#maxBytes) {
      this.#fail(tooLarge(this.#maxBytes));
      return;
    }
    this.#chunks.push(chunk);
    if (this.#size >= this.#nextStride) {
      this.#nextStride = this.#size + STRIDE;
      this.deadline = performance.now() + this.#timeoutMs;
    }
  }

  #end(): void {
    const chunks = this.#chunks;
    if (!chunks) return;
    this.#settle();
    this.#resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, this.#size));
  }

  #gone(): void {
    if (!this.#chunks) return;
    this.#fail(new PorticoError("client_closed", "The client left before its request was complete.", { status: 499 }));
  }

  #fail(error: PorticoError): void {
    this.#settle();
    this.#reject(error);
  }

  #settle(): void {
    this.#chunks = undefined;
    unwatch(this);
  }
}

// One clock for all bodies: a timer for each would cost more than reading most of them.
const TICK_MS = 100;
// The last takes the place of whoever goes: a Set would write its table anew every hundred entries, and each old table
// keeps what was in it (whole requests) until the next full garbage collection.
const awaited: BodyReader[] = [];
let clock: NodeJS.Timeout | undefined;

function watch(reader: BodyReader): void {
  reader.place = awaited.push(reader) - 1;
  clock ??= setInterval(tick, TICK_MS).unref();
}

function unwatch(reader: BodyReader): void {
  const last = awaited.pop() as BodyReader;
  last.place = reader.place;
  if (last !== reader) awaited[reader.place] = last;
}

function tick(): void {
  const now = performance.now();
  for (const reader of [...awaited]) if (reader.deadline <= now) reader.expire();
  if (awaited.length > 0) return;
  clearInterval(clock);
  clock = undefined;
}

function tooLarge(maxBytes: number): PorticoError {
  return new PorticoError(
    "body_too_large",
    `The request body is larger than the ${maxBytes} bytes that this route takes.`,
  );
}

/** Throws `unsupported_media_type` unless the body is announced as JSON in UTF-8. */
export function checkJsonType(req: IncomingMessage): void {
  const type = req.headers["content-type"];
  if (type === "application/json") return;
  if (type === undefined && !hasBody(req)) return;
  const [essence = "", ...parameters] = (type ?? "").toLowerCase().split(";");
  if (!/^\s*application\/(json|[\w.!#$&^-]+\+json)\s*$/.test(essence)) {
    throw new PorticoError("unsupported_media_type", "Send the body as JSON with `Content-Type: application/json`.");
  }
  for (const parameter of parameters) {
    const charset = /^\s*charset\s*=\s*"?([^"\s]*)"?\s*$/.exec(parameter)?.[1];
    if (charset !== undefined && charset !== "utf-8" && charset !== "utf8") {
      throw new PorticoError("unsupported_media_type", "JSON is taken in UTF-8 only: leave the charset out.");
    }
  }
}

/**
 * The value of a JSON text in UTF-8, with or without a byte order mark. Keys called `__proto__` are left out.
 * Throws `invalid_json`; the message tells the place, never the text around it, which may be a secret.
 */
export function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) throw invalid("The request body is empty. Send a JSON value.");
  if (!isUtf8(bytes)) throw invalid("The request body is not valid UTF-8.");
  const marked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  const text = bytes.toString("utf8", marked ? 3 : 0);
  let value: unknown;
  try {
    value = hasProtoKey(text) ? JSON.parse(text, dropProto) : JSON.parse(text);
  } catch (error) {
    if (error instanceof RangeError) throw tooDeep();
    const place = /at position (\d+)/.exec((error as Error).message)?.[1];
    throw invalid(`The request body is not valid JSON${place ? `: look at character ${place}` : ""}.`);
  }
  // Nesting costs two bytes a level, so a short text cannot be too deep.
  if (bytes.length > MAX_DEPTH * 2) checkDepth(value);
  return value;
}

const PROTO_KEY =
  /"(?:_|\\u005f){2}(?:p|\\u0070)(?:r|\\u0072)(?:o|\\u006f)(?:t|\\u0074)(?:o|\\u006f)(?:_|\\u005f){2}"/i;

function hasProtoKey(text: string): boolean {
  return text.includes('"__proto__"') || (text.includes("\\u00") && PROTO_KEY.test(text));
}

function dropProto(key: string, value: unknown): unknown {
  return key === "__proto__" ? undefined : value;
}

/** Whoever walks the value next may do so recursively; a stack overflow must not be the first to notice. */
function checkDepth(root: unknown): void {
  let level: unknown[] = [root];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) throw tooDeep();
    const next: unknown[] = [];
    for (const value of level) {
      if (typeof value !== "object" || value === null) continue;
      for (const child of Array.isArray(value) ? value : Object.values(value)) {
        if (typeof child === "object" && child !== null) next.push(child);
      }
    }
    level = next;
  }
}

function tooDeep(): PorticoError {
  return invalid(`The request body is nested more than ${MAX_DEPTH} levels deep.`);
}

function invalid(message: string): PorticoError {
  return new PorticoError("invalid_json", message, { type: "invalid_request_error" });
}

/** Up to this much of an unread body is worth reading to keep the connection. */
const SMALL = 64 * 1024;
const LINGER_BYTES = 256 * 1024 * 1024;
const LINGER_MS = 10_000;

/** True where more is still to come than one wants to read just to be able to use the connection again. */
export function mustClose(req: IncomingMessage): boolean {
  if (req.complete || !hasBody(req)) return false;
  const length = req.headers["content-length"];
  return length === undefined || Number(length) > SMALL;
}

/**
 * Ends an answer whose request has not been read to its end. Closing a socket with unread bytes resets it, and a
 * client that is still sending would lose the answer with it: so the answer goes out whole, the rest of the body is
 * read and thrown away within bounds, and only then the connection closes.
 */
export function endAndLinger(req: IncomingMessage, res: ServerResponse, body: string): void {
  res.write(body);
  drain(req, () => res.end());
}

/** Reads the rest of a body and throws it away; calls back at its end, or when it is too much or takes too long. */
export function drain(req: IncomingMessage, done: () => void): void {
  let bytes = 0;
  const timer = setTimeout(finish, LINGER_MS);
  function onData(chunk: Buffer): void {
    bytes += chunk.length;
    if (bytes > LINGER_BYTES) finish();
  }
  function finish(): void {
    clearTimeout(timer);
    req.off("data", onData);
    req.off("end", finish);
    req.off("close", finish);
    done();
  }
  if (req.destroyed || req.readableEnded) {
    finish();
    return;
  }
  req.on("data", onData);
  req.on("end", finish);
  req.on("close", finish);
  req.resume();
}
