/** Reads request bodies, within limits of size and time. */
import type { IncomingMessage } from "node:http";
import { readContentEncoding, decompressorOf } from "./compressed.ts";
import { errors } from "../errors.ts";
import type { HttpRequest } from "./request.ts";

/** Whether the head announces a body. */
export function hasBody(req: IncomingMessage): boolean {
  const length = req.headers["content-length"];
  return length === undefined ? req.headers["transfer-encoding"] !== undefined : length !== "0";
}

export interface ReadBodyOptions {
  /** The limit of the body as sent, and of its decompressed content. */
  maxBytes: number;
  timeoutMs: number;
}

interface BodySource {
  readonly req: HttpRequest;
  /** Sends `100 Continue` if the client waits for it. Called right before the first byte of the body is awaited. */
  sendContinue(): void;
}

/**
 * Reads the whole body as it was sent. Rejects with `body_too_large`, `request_timeout`, or `client_closed` when the
 * client disconnects.
 */
export function readWireBody(
  source: BodySource,
  { maxBytes, timeoutMs }: ReadBodyOptions,
): Promise<Buffer> {
  const { req } = source;
  if (!hasBody(req)) return Promise.resolve(Buffer.alloc(0));
  if (Number(req.headers["content-length"]) > maxBytes)
    return Promise.reject(errors.bodyTooLarge({ maxBytes }));
  source.sendContinue();
  return req.readWhole(maxBytes, timeoutMs);
}

/**
 * Reads a body with `readWire` and decompresses it. Also rejects with `unsupported_media_type` (an unknown compression)
 * before anything is read, and with `invalid_request_error` (a broken one).
 */
export async function readBody(
  req: IncomingMessage,
  readWire: () => Promise<Buffer>,
  maxBytes: number,
): Promise<Buffer> {
  const encoding = hasBody(req) ? readContentEncoding(req) : undefined;
  if (encoding === undefined) return readWire();
  const decompress = decompressorOf(encoding);
  return decompress(await readWire(), maxBytes);
}
