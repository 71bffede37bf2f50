/** The items of one response. Each is announced when it begins and again when it is complete. */
import type { JsonObject } from "portico/provider";
import { type ItemKind, itemId } from "../archive.ts";

/** Writes the steps by which a response comes into being as events of a stream. */
export interface OutputEvents {
  write(type: string, fields: JsonObject): void;
  /**
   * One of many events that differ in `delta` alone. `place` holds the members before it as `membersOf` writes them, `more`
   * the members after it in JSON with a comma before each.
   */
  writeDelta(type: string, place: string, delta: string, more?: string): void;
}

/** For a response that goes out as a whole. */
export const NO_EVENTS: OutputEvents = { write() {}, writeDelta() {} };

/** An item and its place in the output. */
export interface OutputItem {
  item: JsonObject;
  index: number;
}

export class ItemList {
  readonly items: JsonObject[] = [];
  readonly events: OutputEvents;
  readonly #responseId: string;

  constructor(responseId: string, events: OutputEvents) {
    this.#responseId = responseId;
    this.events = events;
  }

  begin(kind: ItemKind, fields: JsonObject): OutputItem {
    const index = this.items.length;
    const item = { id: itemId(kind, this.#responseId, index), ...fields };
    this.items.push(item);
    this.events.write("response.output_item.added", { output_index: index, item });
    return { item, index };
  }

  end({ item, index }: OutputItem): void {
    this.events.write("response.output_item.done", { output_index: index, item });
  }
}

/** The members of an object in JSON without the braces, to be written into another object. */
export function membersOf(object: JsonObject): string {
  return JSON.stringify(object).slice(1, -1);
}
