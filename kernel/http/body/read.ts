/** Reading request bodies, within bounds of size and time. */
import type { IncomingMessage } from "node:http";
import { PorticoError } from "../../errors.ts";
import { type HttpRequest, tooLarge } from "./request.ts";

const COMPRESSED = "Compressed request bodies are not taken. Send the body as it is.";

/** True where the head announces a body. */
export function hasBody(req: IncomingMessage): boolean {
  const length = req.headers["content-length"];
  return length === undefined ? req.headers["transfer-encoding"] !== undefined : length !== "0";
}

/**
 * The whole body. Rejects with `body_too_large`, `request_timeout`, `unsupported_media_type` (compressed), or
 * `client_closed` when the client leaves. Right before the first byte is awaited, the source may say that it can come.
 */
export function readBody(
  source: { readonly req: HttpRequest; sendContinue(): void },
  { maxBytes, timeoutMs }: { maxBytes: number; timeoutMs: number },
): Promise<Buffer> {
  const { req } = source;
  if (!hasBody(req)) return Promise.resolve(Buffer.alloc(0));
  const { "content-encoding": encoding, "content-length": length } = req.headers;
  if (encoding !== undefined && encoding.toLowerCase() !== "identity")
    return Promise.reject(new PorticoError("unsupported_media_type", COMPRESSED));
  if (Number(length) > maxBytes) return Promise.reject(tooLarge(maxBytes));
  source.sendContinue();
  return req.whole(maxBytes, timeoutMs);
}
