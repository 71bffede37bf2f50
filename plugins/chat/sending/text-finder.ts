/** Finds the texts in a stream of chunks whose source does not tell where they stand. */
import { EventPattern } from "../kit/stream/event-pattern.ts";
import { type TextSpan, TextSpans } from "../kit/stream/text-spans.ts";

const CONTENT = Buffer.from('"content"');

export class TextFinder {
  readonly #spans = new TextSpans();
  #pattern: EventPattern | undefined;

  /** As many events from here on as differ from the learned one in their text only. */
  spanAt(bytes: Buffer, at: number): TextSpan | undefined {
    const pattern = this.#pattern;
    if (!pattern?.match(bytes, at)) return undefined;
    let from = at;
    do {
      this.#spans.add(from, pattern.eventEnd, bytes, pattern.stringStart, pattern.stringEnd);
      from = pattern.eventEnd;
    } while (pattern.matchNext(bytes));
    return this.#spans.take()[0];
  }

  /** An event that says nothing but some text of the first choice. */
  learn(event: Buffer): void {
    this.#pattern =
      EventPattern.of(event, CONTENT, "none", Math.max(0, event.indexOf('"delta"'))) ??
      this.#pattern;
  }
}
