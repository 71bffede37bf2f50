/** Reading request bodies, within bounds of size and time. */
import type { IncomingMessage } from "node:http";
import { contentEncoding, decompressorOf } from "./compressed.ts";
import { errors } from "../errors.ts";
import type { HttpRequest } from "./request.ts";

/** True where the head announces a body. */
export function hasBody(req: IncomingMessage): boolean {
  const length = req.headers["content-length"];
  return length === undefined ? req.headers["transfer-encoding"] !== undefined : length !== "0";
}

export interface ReadBodyOptions {
  /** Of the body as it is sent, and of what a compressed one holds. */
  maxBytes: number;
  timeoutMs: number;
}

/**
 * The whole body, decompressed. Rejects with `body_too_large`, `request_timeout`, `unsupported_media_type` (an unknown
 * compression), `invalid_request_error` (a broken one), or `client_closed` when the client leaves. Right before the
 * first byte is awaited, the source may say that it can come.
 */
export function readBody(
  source: { readonly req: HttpRequest; sendContinue(): void },
  { maxBytes, timeoutMs }: ReadBodyOptions,
): Promise<Buffer> {
  const { req } = source;
  if (!hasBody(req)) return Promise.resolve(Buffer.alloc(0));
  if (Number(req.headers["content-length"]) > maxBytes)
    return Promise.reject(errors.bodyTooLarge({ maxBytes }));
  const encoding = contentEncoding(req);
  if (encoding === undefined) {
    source.sendContinue();
    return req.whole(maxBytes, timeoutMs);
  }
  return readCompressed(source, encoding, { maxBytes, timeoutMs });
}

async function readCompressed(
  source: { readonly req: HttpRequest; sendContinue(): void },
  encoding: string,
  { maxBytes, timeoutMs }: ReadBodyOptions,
): Promise<Buffer> {
  const decompress = decompressorOf(encoding);
  source.sendContinue();
  return decompress(await source.req.whole(maxBytes, timeoutMs), maxBytes);
}
