import { withoutMark } from "./byte-order-mark.ts";
import { HeldBytes } from "./held-bytes.ts";

const LF = 10;
const CR = 13;
const SPACE = 32;

/**
 * Hands on each line of bytes that may be cut anywhere, without its end (LF or CRLF); lines of white space are left out,
 * and so is a byte order mark. Lines may share memory with what was pushed. `end` hands on the last one. Throws
 * `ResponseTooLarge` for a large line that holds more than can be read: see `HeldBytes`.
 */
export function createLineParser(onLine: (line: Buffer) => void): {
  push(bytes: Buffer): void;
  end(): void;
} {
  const held = new HeldBytes();
  let isFirst = true;

  function emit(line: Buffer): void {
    const trimmed = line.at(-1) === CR ? line.subarray(0, -1) : line;
    const text = isFirst ? withoutMark(trimmed) : trimmed;
    isFirst = false;
    if (text.length > 0 && (text[0]! > SPACE || text.some((byte) => byte > SPACE))) onLine(text);
  }

  function emitHeldWith(rest: Buffer): void {
    held.push(rest);
    emit(held.take());
  }

  return {
    push(bytes) {
      let from = 0;
      for (let at = bytes.indexOf(LF); at !== -1; at = bytes.indexOf(LF, from)) {
        const rest = bytes.subarray(from, at);
        if (held.size > 0) emitHeldWith(rest);
        else emit(rest);
        from = at + 1;
      }
      if (from < bytes.length) held.push(bytes.subarray(from));
    },
    end() {
      emit(held.take());
    },
  };
}
