/** Decides what happens to a body that its handler has not read to the end. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { hasBody } from "./read.ts";

/** Up to this many bytes of an unread body are worth reading to keep the connection. */
const MAX_DISCARDED_BYTES = 64 * 1024;
const LINGER_BYTES = 256 * 1024 * 1024;
const LINGER_MS = 10_000;

/** Whether the rest of the body is larger than is worth reading to reuse the connection. */
export function mustClose(req: IncomingMessage): boolean {
  if (req.complete || !hasBody(req)) return false;
  const length = req.headers["content-length"];
  return length === undefined || Number(length) > MAX_DISCARDED_BYTES;
}

/**
 * Ends a response whose body has been written, after reading and discarding the rest of the request, within limits of
 * size and time. Closing a socket with unread bytes resets it, and a client that is still sending would lose the
 * response.
 */
export function endAndLinger(req: IncomingMessage, res: ServerResponse): void {
  let bytes = 0;
  const endResponse = (): void => void res.end();
  const timer = setTimeout(endResponse, LINGER_MS);
  res.once("close", () => clearTimeout(timer));
  req.once("end", endResponse);
  req.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > LINGER_BYTES) endResponse();
  });
  req.resume();
}
