/** Decodes a response's content coding, here and in the client for upstreams. */
import type { Transform } from "node:stream";
import { createBrotliDecompress, createInflateRaw, createUnzip } from "node:zlib";

/** Creates a decoder. `first` is the first byte of the body. Returns `undefined` for an unknown coding. */
export function createDecompressor(coding: string, first: number): Transform | undefined {
  switch (coding.trim().toLowerCase()) {
    case "gzip":
    case "x-gzip":
      return createUnzip();
    case "deflate":
      // Some servers send raw deflate data without the zlib header, whose first byte ends in 8.
      return (first & 0x0f) === 8 ? createUnzip() : createInflateRaw();
    case "br":
      return createBrotliDecompress();
    default:
      return undefined;
  }
}
