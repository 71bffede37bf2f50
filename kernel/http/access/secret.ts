/** Compares texts with a secret. */

export interface Secret {
  equals(text: string): boolean;
}

/** A character has at most four bytes, so nothing was cut off if that many are left in the block. */
const SPARE = 4;
/** Blocks to compare in. Most tokens fit into the first, and every header fits into the last. */
const blocks = [64, 256, 16 * 1024].map((size) => Buffer.alloc(size));

/**
 * Compares in constant time: both texts are zero-padded in blocks of one size, so the time reveals neither the content
 * nor the length of the secret. (Digests would do the same at ten times the cost, on every request.) An empty secret
 * equals nothing.
 */
export function secretOf(text: string): Secret {
  const { timingSafeEqual } = process.getBuiltinModule("node:crypto"); // slow to load, and most commands do not need it
  // Node decodes each byte of a header as one character, and most clients send UTF-8.
  const inHeaders = Buffer.from(text).toString("latin1");
  const block =
    blocks.find(({ length }) => Buffer.byteLength(inHeaders) <= length - SPARE) ?? blocks.at(-1)!;
  const encodings = [...new Set([text, inHeaders])].map((encoding) =>
    Buffer.concat([Buffer.from(encoding)], block.length),
  );
  return {
    equals(text) {
      const byteCount = block.write(text);
      block.fill(0, byteCount);
      const matches = encodings.filter((encoding) => timingSafeEqual(block, encoding));
      return matches.length > 0 && byteCount <= block.length - SPARE && text !== "";
    },
  };
}
