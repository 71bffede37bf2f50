/** What undoes a response's content coding, here and in the client for upstreams. */
import type { Transform } from "node:stream";
import { createBrotliDecompress, createInflateRaw, createUnzip } from "node:zlib";

/** `first`: the first byte of the body. Undefined for a coding that is not known. */
export function createDecompressor(coding: string, first: number): Transform | undefined {
  switch (coding.trim().toLowerCase()) {
    case "gzip":
    case "x-gzip":
      return createUnzip();
    case "deflate":
      // Some servers take it at its word and leave out zlib's wrapping, whose first byte ends in 8.
      return (first & 0x0f) === 8 ? createUnzip() : createInflateRaw();
    case "br":
      return createBrotliDecompress();
    default:
      return undefined;
  }
}
