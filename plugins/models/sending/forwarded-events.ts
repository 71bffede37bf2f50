/** Streams of texts in other forms than chat's: edited while they flow, or rewritten when they are complete. */
import { createSseParser, parseExact, stringifyExact } from "portico/provider";
import type { Edit, FlowEditor } from "./edited-stream.ts";
import { dropStray, slotsOfEvent, type TextSlot } from "./text-slots.ts";

interface Event {
  data: string;
  /** Undefined for what is no JSON object. */
  value: Record<string, unknown> | undefined;
}

/** For `message:streaming`. */
export class EventEditor implements FlowEditor<Buffer> {
  readonly #edit: Edit;
  readonly #parser;
  readonly #texts = new Map<number, string>();
  readonly #finished = new Set<number>();
  #events: Event[] = [];
  /** The latest event with a piece of each text: what handlers held back goes out in its likeness. */
  readonly #like = new Map<number, string>();

  constructor(edit: Edit) {
    this.#edit = edit;
    this.#parser = createSseParser((data) => this.#events.push(eventOf(data.toString("utf8"))));
  }

  async push(read: readonly Buffer[]): Promise<readonly Buffer[]> {
    for (const bytes of read) this.#parser.push(bytes);
    return [await this.#take()];
  }

  async end(): Promise<readonly Buffer[]> {
    this.#parser.end();
    return [await this.#take(), await this.#rest()];
  }

  async #take(): Promise<Buffer> {
    const events = this.#events;
    this.#events = [];
    const out: Buffer[] = [];
    for (const event of events) out.push(...(await this.#changed(event)));
    return Buffer.concat(out);
  }

  async #changed({ data, value }: Event): Promise<Buffer[]> {
    if (data === "[DONE]") return [await this.#rest(), encode(data)];
    if (value === undefined) return [encode(data)];
    const before: Buffer[] = [];
    dropStray(value);
    for (const slot of slotsOfEvent(value)) {
      if (slot.whole === true) {
        before.push(await this.#last(slot.key));
        put(slot, this.#texts.get(slot.key) ?? (await this.#edit(slot.text, true, slot.key)));
        continue;
      }
      this.#like.set(slot.key, data);
      const final = slot.last === true && !this.#finished.has(slot.key);
      if (final) this.#finished.add(slot.key);
      const edited = slot.text === "" && !final ? "" : await this.#edit(slot.text, final, slot.key);
      this.#add(slot.key, edited);
      put(slot, edited);
    }
    return [...before, encode(stringifyExact(value))];
  }

  #add(key: number, text: string): void {
    this.#texts.set(key, (this.#texts.get(key) ?? "") + text);
  }

  async #rest(): Promise<Buffer> {
    const out: Buffer[] = [];
    for (const key of this.#like.keys()) out.push(await this.#last(key));
    return Buffer.concat(out);
  }

  async #last(key: number): Promise<Buffer> {
    const like = this.#like.get(key);
    if (like === undefined || this.#finished.has(key)) return Buffer.alloc(0);
    this.#finished.add(key);
    const text = await this.#edit("", true, key);
    this.#add(key, text);
    if (text === "") return Buffer.alloc(0);
    const value = eventOf(like).value!;
    for (const slot of slotsOfEvent(value)) slot.set(slot.key === key ? text : "");
    return encode(stringifyExact(value));
  }
}

/** What is set has no tokens any more. */
function put(slot: TextSlot, text: string): void {
  if (text !== slot.text) slot.set(text);
}

/** A whole stream with each text as `offer` leaves it; undefined where it leaves all as they were. */
export async function rewritten(
  bytes: Buffer,
  offer: (text: string) => Promise<string>,
): Promise<Buffer | undefined> {
  const events: Event[] = [];
  const parser = createSseParser((data) => events.push(eventOf(data.toString("utf8"))));
  parser.push(bytes);
  parser.end();
  const stray = events.filter(({ value }) => value !== undefined && dropStray(value)).length > 0;
  const slots = events.map(({ value }) => (value === undefined ? [] : slotsOfEvent(value)));
  const texts = new Map<number, string>();
  for (const { key, text, whole } of slots.flat())
    if (whole !== true) texts.set(key, (texts.get(key) ?? "") + text);
    else if (!texts.has(key)) texts.set(key, text);
  const changed = new Map<number, string>();
  for (const [key, text] of texts) {
    if (text === "") continue;
    const offered = await offer(text);
    if (offered !== text) changed.set(key, offered);
  }
  if (changed.size === 0 && !stray) return undefined;
  const replaced = new Set<number>();
  return Buffer.concat(
    events.flatMap(({ data, value }, i) => {
      if (value === undefined) return [encode(data)];
      let pieces = 0;
      for (const slot of slots[i]!) if (replace(slot, changed, replaced)) pieces++;
      // a piece whose text has gone out with the first one
      const emptied =
        slots[i]!.length > 0 &&
        pieces === slots[i]!.length &&
        slots[i]!.every(({ last }) => last !== true);
      return emptied && value.usage == null ? [] : [encode(stringifyExact(value))];
    }),
  );
}

/** The first piece has the whole text, and the others nothing. True where nothing is left of it. */
function replace(
  slot: TextSlot,
  changed: ReadonlyMap<number, string>,
  replaced: Set<number>,
): boolean {
  const text = changed.get(slot.key);
  if (text === undefined) return false;
  const first = !replaced.has(slot.key);
  if (slot.whole === true) slot.set(text);
  else slot.set(first ? text : "");
  if (slot.whole !== true) replaced.add(slot.key);
  return slot.whole !== true && !first;
}

function eventOf(data: string): Event {
  try {
    const value = parseExact(data);
    return {
      data,
      value: typeof value === "object" && value !== null ? (value as Event["value"]) : undefined,
    };
  } catch {
    return { data, value: undefined };
  }
}

function encode(data: string): Buffer {
  return Buffer.from(`data: ${data}\n\n`);
}
