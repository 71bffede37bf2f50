/** A reasoning item while its summary is being written. */
import type { JsonObject } from "portico/provider";
import { type ItemList, membersOf, type OutputItem } from "./item-list.ts";

export class ReasoningItem {
  readonly #list: ItemList;
  readonly #entry: OutputItem;
  readonly #place: JsonObject;
  readonly #deltaPlace: string;
  #text = "";

  constructor(list: ItemList) {
    this.#list = list;
    this.#entry = list.begin("rs", { type: "reasoning", summary: [] });
    const { item, index } = this.#entry;
    this.#place = { item_id: item.id, output_index: index, summary_index: 0 };
    this.#deltaPlace = membersOf(this.#place);
    const part = { type: "summary_text", text: "" };
    list.events.write("response.reasoning_summary_part.added", { ...this.#place, part });
  }

  write(delta: string): void {
    this.#text += delta;
    const type = "response.reasoning_summary_text.delta";
    this.#list.events.writeDelta(type, this.#deltaPlace, delta);
  }

  end(): void {
    const { events } = this.#list;
    const text = this.#text;
    const part = { type: "summary_text", text };
    events.write("response.reasoning_summary_text.done", { ...this.#place, text });
    events.write("response.reasoning_summary_part.done", { ...this.#place, part });
    this.#entry.item.summary = [part];
    this.#list.end(this.#entry);
  }
}
