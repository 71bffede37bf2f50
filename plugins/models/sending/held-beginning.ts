/** Waits for the first bytes of a stream: if it fails before them, the client can still get an error response. */
import type { ByteStream } from "../streams/flow.ts";

/**
 * Resolves with the stream when more than `maxBytes` or all of it were received. Rejects with the error of a stream
 * that fails earlier.
 */
export async function holdBeginning(source: ByteStream, maxBytes: number): Promise<ByteStream> {
  const reads = source[Symbol.asyncIterator]();
  const beginning: Buffer[] = [];
  let size = 0;
  let isOver = false;
  while (size <= maxBytes && !isOver) {
    const { done, value } = await reads.next();
    isOver = done === true;
    for (const bytes of value ?? []) {
      beginning.push(bytes);
      size += bytes.length;
    }
  }
  return {
    get usage() {
      return source.usage;
    },
    cancel: () => source.cancel(),
    async *[Symbol.asyncIterator]() {
      yield beginning;
      while (!isOver) {
        const { done, value } = await reads.next();
        if (done === true) return;
        yield value;
      }
    },
  };
}
