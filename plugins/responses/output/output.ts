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
  reasoning(delta: string): void;
  text(delta: string, logprobs?: unknown[]): void;
  annotation(annotation: JsonObject): void;
  refusal(delta: string): void;
  call(part: StreamedCallPart): void;
  callArguments(index: number, text: string): void;
  signature(part: SignaturePart): void;
  /** Sets `extra_content` of the message, or of a call. */
  extra(part: RawPart): void;
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

  reasoning(delta: string): void {
    this.#reasoning().write(delta);
  }

  text(delta: string, logprobs: unknown[] = []): void {
    this.#message().writeText(delta, logprobs);
  }

  annotation(annotation: JsonObject): void {
    this.#message().annotate(annotation);
  }

  refusal(delta: string): void {
    this.#message().writeRefusal(delta);
  }

  call(part: StreamedCallPart): void {
    this.#endText("completed");
    this.#calls.begin(part);
  }

  callArguments(index: number, text: string): void {
    this.#calls.write(index, text);
  }

  signature(part: SignaturePart): void {
    this.#signed.add(part);
  }

  extra({ at, index, members }: RawPart): void {
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

  #reasoning(): ReasoningItem {
    if (this.#open instanceof ReasoningItem) return this.#open;
    this.#endAll();
    const item = new ReasoningItem(this.#list);
    this.#open = item;
    return item;
  }

  #message(): MessageItem {
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
    const own = this.#extra ?? this.#signed.extraContent(calls.length > 0);
    const sealed = sealExtras(own, calls);
    if (sealed === undefined) return;
    const item = { type: "reasoning", summary: [], encrypted_content: sealed };
    this.#list.end(this.#list.begin("rs", item));
  }
}
