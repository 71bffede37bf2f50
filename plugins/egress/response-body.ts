import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { createDecompressor } from "./decompressor.ts";
import { errors } from "./errors.ts";

export const tooLargeError = (maxBytes: number) =>
  errors.responseTooLarge({ maxBytes }, { details: { maxBytes } });

/**
 * Reads the whole body, decoded. Rejects if it is larger than `maxBytes`, or ends before its length, last chunk or
 * compressed data do.
 */
export async function readBody(message: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    const source = await decodeBody(message);
    if (source === message && Number(message.headers["content-length"]) > maxBytes)
      throw tooLargeError(maxBytes);
    for await (const chunk of source as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) throw tooLargeError(maxBytes);
      chunks.push(chunk);
    }
  } catch (error) {
    throw toReadError(error);
  }
  return Buffer.concat(chunks, size);
}

/** Converts an error that occurred while a body was read. */
export function toReadError(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  // Z_BUF_ERROR means that the compressed data is incomplete.
  if (code !== "ECONNRESET" && code !== "Z_BUF_ERROR") return error;
  return errors.responseCutOff({ cause: error });
}

/** Returns the response's body without its content coding. */
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

/**
 * Returns the first byte of the body without consuming it, or undefined if the body is empty. The body may already be
 * complete or cut off.
 */
async function firstByte(message: IncomingMessage): Promise<number | undefined> {
  await Promise.race([once(message, "readable"), finished(message, { cleanup: true })]);
  const first: Buffer | null = message.read(1);
  if (first !== null) message.unshift(first);
  return first?.[0];
}
