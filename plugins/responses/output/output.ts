/** Builds the items of a response delta by delta, and writes each step as an event of the stream. */
import {
  type JsonObject,
  type RawPart,
  sealExtras,
  type SignaturePart,
  SignedReasoning,
  type StreamedCallPart,
} from "portico/provider";
import { CallItems, type ToolOf } from "./call-items.ts";
import { ItemList, type OutputEvents } from "./item-list.ts";
import { MessageItem } from "./message-item.ts";
import { ReasoningItem } from "./reasoning-item.ts";

export interface Output {
  readonly items: JsonObject[];
  addReasoning(delta: string): void;
  addText(delta: string, logprobs?: unknown[]): void;
  addAnnotation(annotation: JsonObject): void;
  addRefusal(delta: string): void;
  beginCall(part: StreamedCallPart): void;
  addArguments(index: number, text: string): void;
  addSignature(part: SignaturePart): void;
  /** Sets `extra_content` of the message, or of a call. */
  addExtra(part: RawPart): void;
  /** Ends the open item or call. `isCut` marks it as incomplete. */
  end(isCut: boolean): void;
}

/** Creates the output of one response. */
export type OutputFactory = (responseId: string, events: OutputEvents, toolOf: ToolOf) => Output;

export const createOutput: OutputFactory = (responseId, events, toolOf) =>
  new ItemOutput(responseId, events, toolOf);

/** Either one text (a message or reasoning) or a call is open: each ends the other when it begins. */
class ItemOutput implements Output {
  readonly #list: ItemList;
  readonly #calls: CallItems;
  readonly #signed = new SignedReasoning();
  #open: MessageItem | ReasoningItem | undefined;
  #extra: unknown;

  constructor(responseId: string, events: OutputEvents, toolOf: ToolOf) {
    this.#list = new ItemList(responseId, events);
    this.#calls = new CallItems(this.#list, toolOf);
  }

  get items(): JsonObject[] {
    return this.#list.items;
  }

  addReasoning(delta: string): void {
    this.#reasoningItem().write(delta);
  }

  addText(delta: string, logprobs: unknown[] = []): void {
    this.#messageItem().writeText(delta, logprobs);
  }

  addAnnotation(annotation: JsonObject): void {
    this.#messageItem().annotate(annotation);
  }

  addRefusal(delta: string): void {
    this.#messageItem().writeRefusal(delta);
  }

  beginCall(part: StreamedCallPart): void {
    this.#endText("completed");
    this.#calls.begin(part);
  }

  addArguments(index: number, text: string): void {
    this.#calls.write(index, text);
  }

  addSignature(part: SignaturePart): void {
    this.#signed.add(part);
  }

  addExtra({ at, index, members }: RawPart): void {
    const content = members["extra_content"];
    const call = at === "call" && index !== undefined ? this.#calls.get(index) : undefined;
    if (call !== undefined) call.extra_content = content;
    if (at === "delta") this.#extra = content;
  }

  end(isCut: boolean): void {
    const status = isCut ? "incomplete" : "completed";
    this.#endText(status);
    this.#calls.end(status);
    this.#addSealedReasoning();
  }

  /** Returns the open reasoning item, or begins one. */
  #reasoningItem(): ReasoningItem {
    if (this.#open instanceof ReasoningItem) return this.#open;
    this.#endAll();
    const item = new ReasoningItem(this.#list);
    this.#open = item;
    return item;
  }

  /** Returns the open message item, or begins one. */
  #messageItem(): MessageItem {
    if (this.#open instanceof MessageItem) return this.#open;
    this.#endAll();
    const item = new MessageItem(this.#list);
    this.#open = item;
    return item;
  }

  #endAll(): void {
    this.#endText("completed");
    this.#calls.end("completed");
  }

  #endText(status: "completed" | "incomplete"): void {
    this.#open?.end(status);
    this.#open = undefined;
  }

  /** Adds the signatures of the provider as an item that only the gateway reads when the client sends it back. */
  #addSealedReasoning(): void {
    const calls = this.#calls.all;
    const extra = this.#extra ?? this.#signed.extraContent(calls.length > 0);
    const sealed = sealExtras(extra, calls);
    if (sealed === undefined) return;
    const item = { type: "reasoning", summary: [], encrypted_content: sealed };
    this.#list.end(this.#list.begin("rs", item));
  }
}
