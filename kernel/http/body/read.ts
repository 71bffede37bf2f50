/** Reading request bodies, within bounds of size and time. */
import type { IncomingMessage } from "node:http";
import { PorticoError } from "../../errors.ts";
import { BodyReader, tooLarge } from "./reader.ts";

const EMPTY = Buffer.alloc(0);

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
  source: { readonly req: IncomingMessage; sendContinue(): void },
  limits: { maxBytes: number; timeoutMs: number },
): Promise<Buffer> {
  const { req } = source;
  if (!hasBody(req)) return Promise.resolve(EMPTY);
  const { "content-encoding": encoding, "content-length": length } = req.headers;
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") return Promise.reject(compressed());
  if (Number(length) > limits.maxBytes) return Promise.reject(tooLarge(limits.maxBytes));
  source.sendContinue();
  return new Promise((resolve, reject) => new BodyReader(req, limits, resolve, reject));
}

function compressed(): PorticoError {
  return new PorticoError("unsupported_media_type", "Compressed request bodies are not taken. Send the body as it is.");
}
