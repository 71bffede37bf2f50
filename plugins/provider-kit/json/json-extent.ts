/**
 * Counts what a JSON text holds while its bytes come, before anything is parsed: a megabyte of `{},` costs more to parse
 * than a hundred of one text.
 */

const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;

export class JsonExtent {
  /** Objects, lists, and their members and items. */
  values = 0;
  /** The most objects and lists inside each other so far. */
  depth = 0;
  #open = 0;
  #isInText = false;
  /** The last byte of a text that goes on escapes the next. */
  #isEscape = false;

  /** Takes bytes cut anywhere. What is no JSON comes to some number as well. */
  push(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; at++) {
      if (this.#isInText) at = this.#endOfText(bytes, at);
      else this.#count(bytes[at]!);
    }
  }

  #count(code: number): void {
    if (code === QUOTE) this.#isInText = true;
    else if (code === COMMA) this.values++;
    // `{` and `[`, `}` and `]` differ in one bit.
    else if ((code | 32) === 123) this.#enter();
    else if ((code | 32) === 125) this.#open--;
  }

  #enter(): void {
    this.values++;
    this.#open++;
    if (this.#open > this.depth) this.depth = this.#open;
  }

  /** Where its closing quote stands, or the bytes end. */
  #endOfText(bytes: Buffer, from: number): number {
    let start = from;
    for (;;) {
      const quote = bytes.indexOf(QUOTE, start);
      const end = quote === -1 ? bytes.length : quote;
      let slashes = 0;
      while (end - slashes > start && bytes[end - slashes - 1] === BACKSLASH) slashes++;
      const isCarried = this.#isEscape && end - slashes === start;
      const isEscaped = (slashes % 2 === 1) !== isCarried;
      this.#isEscape = quote === -1 && isEscaped;
      this.#isInText = quote === -1 || isEscaped;
      if (quote === -1 || !isEscaped) return end;
      start = quote + 1;
    }
  }
}
