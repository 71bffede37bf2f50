/** What is to become of a body that its handler has not read, or not to its end. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { hasBody } from "./read.ts";

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
 * Ends a response whose body has been written, once the rest of the request has been read away: closing a socket with
 * unread bytes resets it, and a client that is still sending would lose the response with it. Within bounds of size
 * and time.
 */
export function endAndLinger(req: IncomingMessage, res: ServerResponse): void {
  let bytes = 0;
  const end = (): void => void res.end();
  const timer = setTimeout(end, LINGER_MS);
  res.once("close", () => clearTimeout(timer));
  req.once("end", end);
  req.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > LINGER_BYTES) end();
  });
  req.resume();
}
