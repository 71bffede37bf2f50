/** The items of one response. Events announce each item when it begins and when it is complete. */
import type { JsonObject } from "portico/provider";
import { type ItemKind, itemId } from "../archive.ts";

/** Writes the steps in which a response is built as events of a stream. */
export interface OutputEvents {
  write(type: string, fields: JsonObject): void;
  /**
   * Writes one of many events that differ only in `delta`. `place` holds the members before it, written by `membersOf`;
   * `more` holds the members after it as JSON, with a comma before each.
   */
  writeDelta(type: string, place: string, delta: string, more?: string): void;
}

/** Writes nothing, for a response that is sent whole. */
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

/** Returns the JSON of an object without its braces, to be inserted into another object. */
export function membersOf(object: JsonObject): string {
  return JSON.stringify(object).slice(1, -1);
}
