/** Where texts stand in the bytes of a stream, as whoever has read it tells those who come behind. */

/** Events that follow each other and say nothing but some text of the first choice. */
export interface TextSpan {
  from: number;
  end: number;
  /** Their texts, one behind the other, as they stand in JSON. */
  literal: string;
}

/** The strings of a span, to be decoded at once: each by itself would take longer. One for all: a span is put together at a stretch. */
const STRINGS = Buffer.allocUnsafeSlow(64 * 1024);

/** Puts spans together. */
export class TextSpans {
  #spans: TextSpan[] = [];
  #last: TextSpan | undefined;
  #length = 0;

  /** An event with its string, which is a range of these bytes. */
  add(from: number, end: number, bytes: Buffer, start: number, quote: number): void {
    const span = this.#last?.end === from ? this.#last : this.#begin(from);
    span.end = end;
    if (this.#length + quote - start > STRINGS.length) this.#decode();
    if (quote - start > STRINGS.length) span.literal += bytes.toString("utf8", start, quote);
    else for (let at = start; at < quote; at++) STRINGS[this.#length++] = bytes[at]!;
  }

  /** Since the last call. */
  take(): readonly TextSpan[] {
    this.#decode();
    const spans = this.#spans;
    this.#last = undefined;
    this.#spans = [];
    return spans;
  }

  #begin(from: number): TextSpan {
    this.#decode();
    this.#last = { from, end: from, literal: "" };
    this.#spans.push(this.#last);
    return this.#last;
  }

  #decode(): void {
    if (this.#last === undefined || this.#length === 0) return;
    this.#last.literal += STRINGS.toString("utf8", 0, this.#length);
    this.#length = 0;
  }
}
