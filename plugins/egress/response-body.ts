import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { createDecompressor } from "./decompressor.ts";
import { errors } from "./errors.ts";

export const tooLarge = (maxBytes: number) =>
  errors.responseTooLarge({ maxBytes }, { details: { maxBytes } });

/** The whole body, decoded. One that ends before its length, its last chunk or its compression does is an error. */
export async function readBody(message: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    const source = await decodeBody(message);
    if (source === message && Number(message.headers["content-length"]) > maxBytes)
      throw tooLarge(maxBytes);
    for await (const chunk of source as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) throw tooLarge(maxBytes);
      chunks.push(chunk);
    }
  } catch (error) {
    throw readingError(error);
  }
  return Buffer.concat(chunks, size);
}

/** What a failure while a body is read means. */
export function readingError(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  // Z_BUF_ERROR: the compressed data ends in the middle.
  if (code !== "ECONNRESET" && code !== "Z_BUF_ERROR") return error;
  return errors.responseCutOff({ cause: error });
}

/** The response's body without its content coding. */
export async function decodeBody(message: IncomingMessage): Promise<Readable> {
  const encoding = (message.headers["content-encoding"] ?? "").trim().toLowerCase();
  if (encoding === "identity" || encoding === "") return message;
  const first = await firstByte(message);
  if (first === undefined) return message;
  const decoder = createDecompressor(encoding, first);
  if (decoder === undefined) {
    throw errors.unknownEncoding({ encoding: JSON.stringify(encoding) });
  }
  message.on("error", (error) => decoder.destroy(error));
  return message.pipe(decoder);
}

/** It stays where it is; undefined where there is none. All may have come by now, or have been cut off. */
async function firstByte(message: IncomingMessage): Promise<number | undefined> {
  await Promise.race([once(message, "readable"), finished(message, { cleanup: true })]);
  const first: Buffer | null = message.read(1);
  if (first !== null) message.unshift(first);
  return first?.[0];
}
