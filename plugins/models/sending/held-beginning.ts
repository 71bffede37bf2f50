/** Waits for the first bytes of a stream: one that breaks off before can still be answered with an error. */
import type { ByteStream } from "../streams/flow.ts";

/** Resolves with the stream once more than so many bytes have come, or all of it; rejects with what it breaks off with before. */
export async function beginningOf(source: ByteStream, most: number): Promise<ByteStream> {
  const reads = source[Symbol.asyncIterator]();
  const held: Buffer[] = [];
  let size = 0;
  let isOver = false;
  while (size <= most && !isOver) {
    const { done, value } = await reads.next();
    isOver = done === true;
    for (const bytes of value ?? []) {
      held.push(bytes);
      size += bytes.length;
    }
  }
  return {
    get usage() {
      return source.usage;
    },
    cancel: () => source.cancel(),
    async *[Symbol.asyncIterator]() {
      yield held;
      while (!isOver) {
        const { done, value } = await reads.next();
        if (done === true) return;
        yield value;
      }
    },
  };
}
