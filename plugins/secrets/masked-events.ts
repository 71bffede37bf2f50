/**
 * Hides secrets in events of routes that are not chat, also where one is spread over many of them: see `PartMask` for the
 * streams of models.
 */
import { MASK } from "portico";
import { isObject, type JsonMembers } from "portico/provider";
import { contentsOf, type Leaf } from "./event-contents.ts";
import { MaskedBytes } from "./masked-bytes.ts";
import { blockEnd, PartialEvent } from "./partial-event.ts";
import { HeldText } from "./held-text.ts";
import type { SecretAutomaton } from "./secret-automaton.ts";
import { type SecretMask, withoutTokens } from "./secret-mask.ts";

const DONE = "data: [DONE]\n\n";
const NOTHING = Buffer.alloc(0);
const NONE: ReadonlySet<string> = new Set();
/** In bytes. */
const LARGEST_EVENT = 1024 * 1024;
const MOST_HELD = 64;
/** So much of a secret goes out in its place where another text of its choice goes on: it may be any word. */
const ASIDE = 6;

/** One string of the stream that grows by deltas. */
interface Growing {
  /** The choice or block that it is a part of. */
  readonly of: string;
  readonly text: HeldText;
  /** The event that held it back, to send the rest in. */
  event: (text: string) => Buffer;
}

export class MaskedEvents {
  readonly #mask: SecretMask;
  readonly #automaton: SecretAutomaton;
  readonly #growing = new Map<string, Growing>();
  /** Those of them that hold something back: few, however many there are. */
  readonly #holding = new Map<string, Growing>();
  readonly #rest = new PartialEvent();
  /** An event that is too large to be held is passed on as bytes. */
  #large: MaskedBytes | undefined;

  constructor(mask: SecretMask) {
    this.#mask = mask;
    this.#automaton = mask.automaton;
  }

  /** Whole events; an incomplete last one waits for the rest of it. */
  push(given: Buffer): Buffer {
    if (this.#large !== undefined) return this.#goOn(this.#large, given);
    const bytes = this.#rest.join(given);
    if (bytes !== undefined) return this.#events(bytes);
    if (this.#rest.size <= LARGEST_EVENT) return NOTHING;
    this.#large = new MaskedBytes(this.#mask);
    return this.#large.push(this.#rest.take());
  }

  #goOn(large: MaskedBytes, given: Buffer): Buffer {
    const end = this.#rest.endIn(given);
    if (end === -1) return large.push(given);
    this.#large = undefined;
    const out = [large.push(given.subarray(0, end)), large.end() ?? NOTHING];
    return Buffer.concat([...out, this.#events(given.subarray(end))]);
  }

  #events(bytes: Buffer): Buffer {
    const out: Buffer[] = [];
    let from = 0;
    let at = 0;
    while (at < bytes.length) {
      const end = blockEnd(bytes, at);
      if (end === -1) break;
      const changed = this.#event(bytes.subarray(at, end));
      if (changed !== undefined) {
        if (at > from) out.push(bytes.subarray(from, at));
        out.push(changed);
        from = end;
      }
      at = end;
    }
    if (at < bytes.length) this.#rest.begin(bytes.subarray(at));
    if (from === 0 && at === bytes.length) return bytes;
    if (at > from) out.push(bytes.subarray(from, at));
    return out.length === 1 ? out[0]! : Buffer.concat(out);
  }

  /** What was still held back. */
  end(): Buffer | undefined {
    const out = this.#release();
    if (this.#rest.size > 0)
      out.push(Buffer.from(this.#mask.text(this.#rest.take().toString("latin1")), "latin1"));
    const large = this.#large?.end();
    if (large !== undefined) out.push(large);
    return out.length === 0 ? undefined : Buffer.concat(out);
  }

  /** One event. Undefined: it may go out unchanged. */
  #event(event: Buffer): Buffer | undefined {
    const text = event.toString("utf8");
    if (text === DONE && this.#holding.size === 0) return undefined;
    const [, head = "", data = "", tail = ""] =
      /^([\s\S]*?^data: ?)([^\n]*)(\r?\n\r?\n)$/m.exec(text) ?? [];
    const value = head === "" ? undefined : parsed(data);
    if (!isObject(value)) return this.#plainEvent(text);
    const write = (of: unknown) => Buffer.from(`${head}${JSON.stringify(of)}${tail}`);
    return this.#objectEvent(event, value, write);
  }

  /** An event without a JSON object. Undefined: it may go out unchanged. */
  #plainEvent(text: string): Buffer | undefined {
    const hidden = this.#mask.text(text);
    // A comment in the middle of a secret ends nothing.
    const before = /^data:/m.test(text) ? this.#release() : [];
    if (hidden === text && before.length === 0) return undefined;
    return Buffer.concat([...before, Buffer.from(hidden)]);
  }

  /** An event whose data is `value`. Undefined: it may go out unchanged. */
  #objectEvent(
    event: Buffer,
    value: JsonMembers,
    write: (value: unknown) => Buffer,
  ): Buffer | undefined {
    const hidden = this.#mask.mayStandIn(event) ? this.#mask.value(value) : value;
    let changed = hidden !== value;
    const { leaves, goesOn, ended } = contentsOf(hidden);
    const before = this.#release(goesOn, ended, new Set(leaves.map(({ id }) => id)));
    for (const leaf of leaves) {
      const growing = this.#grown(leaf.id, leaf.of);
      const given = leaf.holder[leaf.key] as string;
      const shown = this.#grow(leaf.id, growing, given, ended.has(leaf.of));
      if (growing.text.held !== "") growing.event = alone(hidden, leaves, leaf.id, write);
      if (shown === given) continue;
      leaf.holder[leaf.key] = shown;
      withoutTokens(hidden);
      changed = true;
    }
    if (!changed && before.length === 0) return undefined;
    return Buffer.concat([...before, changed ? write(hidden) : event]);
  }

  /** What of the text may go out now. */
  #grow(id: string, growing: Growing, given: string, isOver: boolean): string {
    const { text } = growing;
    const shown = text.push(given);
    if (text.held === "") this.#holding.delete(id);
    if (isOver) return shown + this.#endText(id, growing);
    if (text.held === "" || this.#holding.has(id)) return shown;
    // No honest stream has so many texts that may be about to say a secret.
    if (this.#holding.size >= MOST_HELD) {
      text.release(true);
      return shown + MASK;
    }
    this.#holding.set(id, growing);
    return shown;
  }

  /** The text ends: what it still holds back goes out. */
  #endText(id: string, { text }: Growing): string {
    this.#holding.delete(id);
    return text.release(true);
  }

  #grown(id: string, of: string): Growing {
    let growing = this.#growing.get(id);
    if (growing === undefined) {
      growing = { of, text: new HeldText(this.#automaton), event: () => NOTHING };
      this.#growing.set(id, growing);
    }
    return growing;
  }

  /**
   * What other texts hold back goes out before an event behind which they do not go on. One of the same choice may go on,
   * and then only what is hardly a secret goes out.
   */
  #release(
    goesOn: ReadonlySet<string> | "nothing" = "nothing",
    ended: ReadonlySet<string> = NONE,
    except: ReadonlySet<string> = NONE,
  ): Buffer[] {
    const out: Buffer[] = [];
    for (const [id, growing] of this.#holding) {
      if (except.has(id)) continue;
      const over = goesOn === "nothing" || ended.has(growing.of);
      const aside = !over && goesOn.has(growing.of) && growing.text.depth <= ASIDE;
      if (!over && !aside) continue;
      out.push(growing.event(growing.text.release(over)));
      this.#holding.delete(id);
    }
    return out;
  }
}

/** The event with one of its texts only. */
function alone(
  event: JsonMembers,
  leaves: readonly Leaf[],
  id: string,
  write: (of: unknown) => Buffer,
) {
  return (text: string): Buffer => {
    const kept = leaves.map(({ holder, key }) => holder[key]);
    for (const leaf of leaves) leaf.holder[leaf.key] = leaf.id === id ? text : "";
    const bytes = write(event);
    for (const [i, { holder, key }] of leaves.entries()) holder[key] = kept[i];
    return bytes;
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
