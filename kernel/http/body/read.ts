/** Reading request bodies, within bounds of size and time. */
import type { IncomingMessage } from "node:http";
import { PorticoError } from "../../errors.ts";
import { CoarseTimeout } from "./coarse-timeout.ts";

const EMPTY = Buffer.alloc(0);
/** A client must deliver this much within each `timeoutMs`: a trickle is as good as a stall. */
const STRIDE = 64 * 1024;

export interface BodySource {
  readonly req: IncomingMessage;
  onDisconnect(gone: () => void): void;
  /** Called right before the first byte is awaited. */
  sendContinue(): void;
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
export function readBody(source: BodySource, maxBytes: number, timeoutMs: number): Promise<Buffer> {
  const { req } = source;
  if (!hasBody(req)) return Promise.resolve(EMPTY);
  const { "content-encoding": encoding, "content-length": length } = req.headers;
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") return Promise.reject(compressed());
  if (Number(length) > maxBytes) return Promise.reject(tooLarge(maxBytes));
  source.sendContinue();

  return new Promise((resolve, reject) => {
    let chunks: Buffer[] | undefined = [];
    let size = 0;
    let nextStride = STRIDE;
    const timeout = new CoarseTimeout(() => fail(late()), timeoutMs);

    function settle(): Buffer[] | undefined {
      const read = chunks;
      chunks = undefined;
      if (read) timeout.clear();
      return read;
    }
    function fail(error: PorticoError): void {
      if (settle()) reject(error);
    }

    // Listeners stay until the request goes: taking them off costs more than calls that do nothing.
    // A request without a listener for "error" emits none.
    req.on("data", (chunk: Buffer) => {
      if (!chunks) return;
      size += chunk.length;
      if (size > maxBytes) return fail(tooLarge(maxBytes));
      // Mostly it is the only one: a list that has grown to it has room for seventeen.
      if (size === chunk.length) chunks = [chunk];
      else chunks.push(chunk);
      if (size < nextStride) return;
      nextStride = size + STRIDE;
      timeout.refresh();
    });
    req.on("end", () => {
      const read = settle();
      if (read) resolve(read.length === 1 ? read[0]! : Buffer.concat(read, size));
    });
    const gone = () => fail(clientClosed());
    source.onDisconnect(gone);
    if (req.destroyed) gone();
  });
}

function compressed(): PorticoError {
  return new PorticoError("unsupported_media_type", "Compressed request bodies are not taken. Send the body as it is.");
}

function late(): PorticoError {
  return new PorticoError("request_timeout", "The request body did not arrive in time. Send it without long pauses.");
}

function clientClosed(): PorticoError {
  return new PorticoError("client_closed", "The client left before its request was complete.", { status: 499 });
}

function tooLarge(maxBytes: number): PorticoError {
  return new PorticoError(
    "body_too_large",
    `The request body is larger than the ${maxBytes} bytes that this route takes.`,
  );
}
