/**
 * Counts the values in a JSON text while its bytes arrive, before anything is parsed: a megabyte of `{},` costs more to
 * parse than a hundred megabytes of one string.
 */

const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;

export class JsonExtent {
  /** The number of objects and lists, plus commas, which separate their members and items. */
  values = 0;
  /** The deepest nesting of objects and lists so far. */
  depth = 0;
  #openCount = 0;
  #isInString = false;
  /** True if the last byte is a backslash in a string, and escapes the next byte. */
  #isEscaping = false;

  /** Counts bytes, which may be cut anywhere. The counts of a text that is not JSON have no meaning. */
  push(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; at++) {
      if (this.#isInString) at = this.#skipString(bytes, at);
      else this.#count(bytes[at]!);
    }
  }

  #count(code: number): void {
    if (code === QUOTE) this.#isInString = true;
    else if (code === COMMA) this.values++;
    // `{` and `[`, `}` and `]` differ in one bit.
    else if ((code | 32) === 123) this.#enter();
    else if ((code | 32) === 125) this.#openCount--;
  }

  #enter(): void {
    this.values++;
    this.#openCount++;
    if (this.#openCount > this.depth) this.depth = this.#openCount;
  }

  /** Returns the index of the string's closing quote, or of the end of the bytes. */
  #skipString(bytes: Buffer, from: number): number {
    let start = from;
    for (;;) {
      const quote = bytes.indexOf(QUOTE, start);
      const end = quote === -1 ? bytes.length : quote;
      let slashes = 0;
      while (end - slashes > start && bytes[end - slashes - 1] === BACKSLASH) slashes++;
      const isCarried = this.#isEscaping && end - slashes === start;
      const isEscaped = (slashes % 2 === 1) !== isCarried;
      this.#isEscaping = quote === -1 && isEscaped;
      this.#isInString = quote === -1 || isEscaped;
      if (quote === -1 || !isEscaped) return end;
      start = quote + 1;
    }
  }
}
