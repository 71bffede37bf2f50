/**
 * Masks secrets in the events of routes that are not chat, also a secret that is spread over many events. `PartMask` does
 * the same for the streams of models.
 */
import { MASK } from "portico";
import { isObject, type JsonMembers } from "portico/provider";
import { contentsOf, type TextDelta } from "./event-contents.ts";
import { MaskedBytes } from "./masked-bytes.ts";
import { blockEnd, PartialEvent } from "./partial-event.ts";
import { HeldText } from "./held-text.ts";
import type { SecretAutomaton } from "./secret-automaton.ts";
import { type SecretMask, withoutTokens } from "./secret-mask.ts";

const DONE = "data: [DONE]\n\n";
const NOTHING = Buffer.alloc(0);
const NONE: ReadonlySet<string> = new Set();
/** The size of the largest event that is held, in bytes. */
const LARGEST_EVENT = 1024 * 1024;
/** The number of texts that may hold back characters at the same time. */
const MAX_HOLDING = 64;
/** Where another text of the choice continues, a pending text is released if at most this much of a secret matches. */
const RELEASABLE_LENGTH = 6;

/** One text of the stream, which arrives in deltas. */
interface GrowingText {
  /** The choice or block that the text is a part of. */
  readonly block: string;
  readonly text: HeldText;
  /** Writes the last event of this text with another text, to send characters that were held back. */
  writeEvent: (text: string) => Buffer;
}

export class MaskedEvents {
  readonly #mask: SecretMask;
  readonly #automaton: SecretAutomaton;
  readonly #growing = new Map<string, GrowingText>();
  /** The texts that hold back characters: few of them do. */
  readonly #holding = new Map<string, GrowingText>();
  readonly #partial = new PartialEvent();
  /** The mask for an event that is too large to be held: it is passed on as bytes. */
  #largeEvent: MaskedBytes | undefined;

  constructor(mask: SecretMask) {
    this.#mask = mask;
    this.#automaton = mask.automaton;
  }

  /** Returns the whole events that are ready; an incomplete last one waits for its remaining bytes. */
  push(chunk: Buffer): Buffer {
    if (this.#largeEvent !== undefined) return this.#continueLargeEvent(this.#largeEvent, chunk);
    const bytes = this.#partial.join(chunk);
    if (bytes !== undefined) return this.#maskEvents(bytes);
    if (this.#partial.size <= LARGEST_EVENT) return NOTHING;
    this.#largeEvent = new MaskedBytes(this.#mask);
    return this.#largeEvent.push(this.#partial.take());
  }

  #continueLargeEvent(large: MaskedBytes, chunk: Buffer): Buffer {
    const end = this.#partial.endIn(chunk);
    if (end === -1) return large.push(chunk);
    this.#largeEvent = undefined;
    const out = [large.push(chunk.subarray(0, end)), large.end() ?? NOTHING];
    return Buffer.concat([...out, this.#maskEvents(chunk.subarray(end))]);
  }

  #maskEvents(bytes: Buffer): Buffer {
    const out: Buffer[] = [];
    // Unchanged events are passed on together, as one slice that begins here.
    let from = 0;
    let at = 0;
    while (at < bytes.length) {
      const end = blockEnd(bytes, at);
      if (end === -1) break;
      const changed = this.#maskEvent(bytes.subarray(at, end));
      if (changed !== undefined) {
        if (at > from) out.push(bytes.subarray(from, at));
        out.push(changed);
        from = end;
      }
      at = end;
    }
    if (at < bytes.length) this.#partial.begin(bytes.subarray(at));
    if (from === 0 && at === bytes.length) return bytes;
    if (at > from) out.push(bytes.subarray(from, at));
    return out.length === 1 ? out[0]! : Buffer.concat(out);
  }

  /** Returns the bytes that are still held back; undefined if there are none. */
  end(): Buffer | undefined {
    const out = this.#release();
    if (this.#partial.size > 0)
      out.push(Buffer.from(this.#mask.text(this.#partial.take().toString("latin1")), "latin1"));
    const large = this.#largeEvent?.end();
    if (large !== undefined) out.push(large);
    return out.length === 0 ? undefined : Buffer.concat(out);
  }

  /** Masks one event. Returns undefined if it may go out unchanged. */
  #maskEvent(event: Buffer): Buffer | undefined {
    const text = event.toString("utf8");
    if (text === DONE && this.#holding.size === 0) return undefined;
    const [, head = "", data = "", tail = ""] =
      /^([\s\S]*?^data: ?)([^\n]*)(\r?\n\r?\n)$/m.exec(text) ?? [];
    const value = head === "" ? undefined : tryParse(data);
    if (!isObject(value)) return this.#maskPlainEvent(text);
    const write = (json: unknown) => Buffer.from(`${head}${JSON.stringify(json)}${tail}`);
    return this.#maskObjectEvent(event, value, write);
  }

  /** Masks an event without a JSON object. Returns undefined if it may go out unchanged. */
  #maskPlainEvent(text: string): Buffer | undefined {
    const hidden = this.#mask.text(text);
    // A comment ends no text, even where it interrupts a secret.
    const before = /^data:/m.test(text) ? this.#release() : [];
    if (hidden === text && before.length === 0) return undefined;
    return Buffer.concat([...before, Buffer.from(hidden)]);
  }

  /** Masks an event whose data is `value`. Returns undefined if it may go out unchanged. */
  #maskObjectEvent(
    event: Buffer,
    value: JsonMembers,
    write: (value: unknown) => Buffer,
  ): Buffer | undefined {
    const hidden = this.#mask.mayStandIn(event) ? this.#mask.value(value) : value;
    let isChanged = hidden !== value;
    const { deltas, continued, ended } = contentsOf(hidden);
    const before = this.#release(continued, ended, new Set(deltas.map(({ id }) => id)));
    for (const { id, block, holder, key } of deltas) {
      const growing = this.#growingText(id, block);
      const text = holder[key] as string;
      const shown = this.#grow(id, growing, text, ended.has(block));
      if (growing.text.pending !== "") growing.writeEvent = textWriter(hidden, deltas, id, write);
      if (shown === text) continue;
      holder[key] = shown;
      withoutTokens(hidden);
      isChanged = true;
    }
    if (!isChanged && before.length === 0) return undefined;
    return Buffer.concat([...before, isChanged ? write(hidden) : event]);
  }

  /** Adds a delta to a text, and returns the characters that may be sent now. */
  #grow(id: string, growing: GrowingText, delta: string, isOver: boolean): string {
    const { text } = growing;
    const shown = text.push(delta);
    if (text.pending === "") this.#holding.delete(id);
    if (isOver) return shown + this.#endText(id, growing);
    if (text.pending === "" || this.#holding.has(id)) return shown;
    // No honest stream has so many texts that end with the beginning of a secret.
    if (this.#holding.size >= MAX_HOLDING) {
      text.release(true);
      return shown + MASK;
    }
    this.#holding.set(id, growing);
    return shown;
  }

  /** Ends a text, and returns the characters that it holds back. */
  #endText(id: string, { text }: GrowingText): string {
    this.#holding.delete(id);
    return text.release(true);
  }

  #growingText(id: string, block: string): GrowingText {
    let growing = this.#growing.get(id);
    if (growing === undefined) {
      growing = { block, text: new HeldText(this.#automaton), writeEvent: () => NOTHING };
      this.#growing.set(id, growing);
    }
    return growing;
  }

  /**
   * Releases the texts that have ended before this event, and returns the events that carry them. If another text of the
   * block continues, it also releases a text of which hardly any of a secret has matched.
   */
  #release(
    continued: ReadonlySet<string> | "nothing" = "nothing",
    ended: ReadonlySet<string> = NONE,
    except: ReadonlySet<string> = NONE,
  ): Buffer[] {
    const out: Buffer[] = [];
    for (const [id, growing] of this.#holding) {
      if (except.has(id)) continue;
      const isOver = continued === "nothing" || ended.has(growing.block);
      const isHarmless =
        !isOver && continued.has(growing.block) && growing.text.depth <= RELEASABLE_LENGTH;
      if (!isOver && !isHarmless) continue;
      out.push(growing.writeEvent(growing.text.release(isOver)));
      this.#holding.delete(id);
    }
    return out;
  }
}

/** Returns a function that writes the event with a new text for `id`, and with its other texts empty. */
function textWriter(
  event: JsonMembers,
  deltas: readonly TextDelta[],
  id: string,
  write: (data: unknown) => Buffer,
) {
  return (text: string): Buffer => {
    const originals = deltas.map(({ holder, key }) => holder[key]);
    for (const delta of deltas) delta.holder[delta.key] = delta.id === id ? text : "";
    const bytes = write(event);
    for (const [i, { holder, key }] of deltas.entries()) holder[key] = originals[i];
    return bytes;
  };
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
