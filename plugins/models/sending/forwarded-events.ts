/** Edits event streams of other formats than chat, while they flow or when they are complete. */
import { createSseParser, parseExact, stringifyExact } from "portico/provider";
import type { Edit, FlowEditor } from "./edited-stream.ts";
import { dropStray, slotsOfEvent, type TextSlot } from "./text-slots.ts";

interface Event {
  data: string;
  /** Undefined if the data is not a JSON object. */
  value: Record<string, unknown> | undefined;
}

/** Edits the events for handlers of `message:streaming`. */
export class EventEditor implements FlowEditor<Buffer> {
  readonly #edit: Edit;
  readonly #parser;
  readonly #texts = new Map<number, string>();
  readonly #finished = new Set<number>();
  #events: Event[] = [];
  /** The latest event with a piece of each text: the template for text that handlers held back. */
  readonly #latestEvents = new Map<number, string>();

  constructor(edit: Edit) {
    this.#edit = edit;
    this.#parser = createSseParser((data) => this.#events.push(parseEvent(data.toString("utf8"))));
  }

  async push(chunks: readonly Buffer[]): Promise<readonly Buffer[]> {
    for (const bytes of chunks) this.#parser.push(bytes);
    return [await this.#take()];
  }

  async end(): Promise<readonly Buffer[]> {
    this.#parser.end();
    return [await this.#take(), await this.#finishAll()];
  }

  async #take(): Promise<Buffer> {
    const events = this.#events;
    this.#events = [];
    const out: Buffer[] = [];
    for (const event of events) out.push(...(await this.#editEvent(event)));
    return Buffer.concat(out);
  }

  async #editEvent({ data, value }: Event): Promise<Buffer[]> {
    if (data === "[DONE]") return [await this.#finishAll(), encode(data)];
    if (value === undefined) return [encode(data)];
    const before: Buffer[] = [];
    dropStray(value);
    for (const slot of slotsOfEvent(value)) {
      if (slot.isWhole === true) {
        before.push(await this.#finishText(slot.key));
        setText(slot, this.#texts.get(slot.key) ?? (await this.#edit(slot.text, true, slot.key)));
        continue;
      }
      this.#latestEvents.set(slot.key, data);
      const final = slot.isLast === true && !this.#finished.has(slot.key);
      if (final) this.#finished.add(slot.key);
      const edited = slot.text === "" && !final ? "" : await this.#edit(slot.text, final, slot.key);
      this.#appendText(slot.key, edited);
      setText(slot, edited);
    }
    return [...before, encode(stringifyExact(value))];
  }

  #appendText(key: number, text: string): void {
    this.#texts.set(key, (this.#texts.get(key) ?? "") + text);
  }

  async #finishAll(): Promise<Buffer> {
    const out: Buffer[] = [];
    for (const key of this.#latestEvents.keys()) out.push(await this.#finishText(key));
    return Buffer.concat(out);
  }

  async #finishText(key: number): Promise<Buffer> {
    const template = this.#latestEvents.get(key);
    if (template === undefined || this.#finished.has(key)) return Buffer.alloc(0);
    this.#finished.add(key);
    const text = await this.#edit("", true, key);
    this.#appendText(key, text);
    if (text === "") return Buffer.alloc(0);
    const value = parseEvent(template).value!;
    for (const slot of slotsOfEvent(value)) slot.set(slot.key === key ? text : "");
    return encode(stringifyExact(value));
  }
}

/** Sets a changed text. Setting it removes its tokens, so an unchanged one is not set. */
function setText(slot: TextSlot, text: string): void {
  if (text !== slot.text) slot.set(text);
}

/** Rewrites a whole stream with each text that `offer` changes. Returns undefined if nothing changes. */
export async function rewriteEvents(
  bytes: Buffer,
  offer: (text: string) => Promise<string>,
): Promise<Buffer | undefined> {
  const events: Event[] = [];
  const parser = createSseParser((data) => events.push(parseEvent(data.toString("utf8"))));
  parser.push(bytes);
  parser.end();
  const hasStray = events.filter(({ value }) => value !== undefined && dropStray(value)).length > 0;
  const slots = events.map(({ value }) => (value === undefined ? [] : slotsOfEvent(value)));
  const texts = new Map<number, string>();
  for (const { key, text, isWhole } of slots.flat())
    if (isWhole !== true) texts.set(key, (texts.get(key) ?? "") + text);
    else if (!texts.has(key)) texts.set(key, text);
  const changedTexts = new Map<number, string>();
  for (const [key, text] of texts) {
    if (text === "") continue;
    const offered = await offer(text);
    if (offered !== text) changedTexts.set(key, offered);
  }
  if (changedTexts.size === 0 && !hasStray) return undefined;
  const replacedKeys = new Set<number>();
  return Buffer.concat(
    events.flatMap(({ data, value }, i) => {
      if (value === undefined) return [encode(data)];
      let emptyPieces = 0;
      for (const slot of slots[i]!) if (replace(slot, changedTexts, replacedKeys)) emptyPieces++;
      // the text of these pieces was sent with the first one
      const isEmpty =
        slots[i]!.length > 0 &&
        emptyPieces === slots[i]!.length &&
        slots[i]!.every(({ isLast }) => isLast !== true);
      return isEmpty && value.usage == null ? [] : [encode(stringifyExact(value))];
    }),
  );
}

/**
 * Replaces a piece: the first one gets the whole text, the others become empty. Returns true if the piece is empty now.
 */
function replace(
  slot: TextSlot,
  changedTexts: ReadonlyMap<number, string>,
  replacedKeys: Set<number>,
): boolean {
  const text = changedTexts.get(slot.key);
  if (text === undefined) return false;
  const isFirst = !replacedKeys.has(slot.key);
  if (slot.isWhole === true) slot.set(text);
  else slot.set(isFirst ? text : "");
  if (slot.isWhole !== true) replacedKeys.add(slot.key);
  return slot.isWhole !== true && !isFirst;
}

function parseEvent(data: string): Event {
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
