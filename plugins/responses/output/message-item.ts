/** A message item while it is being written. A refusal after text is a second part of the same message. */
import type { JsonObject } from "portico/provider";
import type { ItemList, OutputItem } from "./item-list.ts";
import { RefusalPart, TextPart } from "./message-parts.ts";

export class MessageItem {
  readonly #list: ItemList;
  readonly #entry: OutputItem;
  readonly #content: JsonObject[] = [];
  #part: TextPart | RefusalPart | undefined;

  constructor(list: ItemList) {
    this.#list = list;
    this.#entry = list.begin("msg", {
      type: "message",
      status: "in_progress",
      role: "assistant",
      content: this.#content,
    });
  }

  writeText(delta: string, logprobs: readonly unknown[]): void {
    this.#textPart().write(delta, logprobs);
  }

  writeRefusal(delta: string): void {
    this.#refusalPart().write(delta);
  }

  annotate(annotation: JsonObject): void {
    this.#textPart().annotate(annotation);
  }

  end(status: "completed" | "incomplete"): void {
    this.#endPart();
    this.#entry.item.status = status;
    this.#list.end(this.#entry);
  }

  #textPart(): TextPart {
    if (this.#part instanceof TextPart) return this.#part;
    this.#endPart();
    const part = new TextPart(this.#list.events, this.#nextPlace());
    this.#part = part;
    return part;
  }

  #refusalPart(): RefusalPart {
    if (this.#part instanceof RefusalPart) return this.#part;
    this.#endPart();
    const part = new RefusalPart(this.#list.events, this.#nextPlace());
    this.#part = part;
    return part;
  }

  #endPart(): void {
    if (this.#part !== undefined) this.#content.push(this.#part.end());
    this.#part = undefined;
  }

  #nextPlace(): JsonObject {
    const { item, index } = this.#entry;
    return { item_id: item.id, output_index: index, content_index: this.#content.length };
  }
}
