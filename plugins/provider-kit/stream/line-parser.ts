import { withoutMark } from "./byte-order-mark.ts";
import { HeldBytes } from "./held-bytes.ts";

const LF = 10;
const CR = 13;
const SPACE = 32;

/**
 * Splits bytes that may be cut anywhere into lines, and calls `onLine` with each, without its end (LF or CRLF). Skips blank
 * lines and a byte order mark. Lines may share memory with the pushed bytes. `end` emits the last line. Throws
 * `ResponseTooLarge` for a line that exceeds a limit of `HeldBytes`.
 */
export function createLineParser(onLine: (line: Buffer) => void): {
  push(bytes: Buffer): void;
  end(): void;
} {
  const partialLine = new HeldBytes();
  let isFirst = true;

  function emit(line: Buffer): void {
    const trimmed = line.at(-1) === CR ? line.subarray(0, -1) : line;
    const text = isFirst ? withoutMark(trimmed) : trimmed;
    isFirst = false;
    if (text.length > 0 && (text[0]! > SPACE || text.some((byte) => byte > SPACE))) onLine(text);
  }

  function emitPartialWith(rest: Buffer): void {
    partialLine.push(rest);
    emit(partialLine.take());
  }

  return {
    push(bytes) {
      let from = 0;
      for (let at = bytes.indexOf(LF); at !== -1; at = bytes.indexOf(LF, from)) {
        const rest = bytes.subarray(from, at);
        if (partialLine.size > 0) emitPartialWith(rest);
        else emit(rest);
        from = at + 1;
      }
      if (from < bytes.length) partialLine.push(bytes.subarray(from));
    },
    end() {
      emit(partialLine.take());
    },
  };
}
