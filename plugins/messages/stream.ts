/** Writes the parts of a stream as the Messages API's events. */
import type { PorticoError } from "portico";
import {
  PartSequence,
  type RawPart,
  sealExtras,
  SignedReasoning,
  type SourceEvent,
  type StreamedCallPart,
  type StreamEncoder,
  type StreamPart,
  type Usage,
  writeParts,
} from "portico/provider";
import {
  estimatedUsage,
  hasCounted,
  type MessageUsage,
  messageId,
  stopReason,
  usageOf,
} from "./response.ts";
import { errorType } from "./errors.ts";

/** A content block of type `tool_use`. */
interface ToolCall {
  id: string;
  block: number;
  args: string;
  extra_content?: unknown;
  isOpen: boolean;
}

/** The text or thinking block that is being written. */
interface OpenBlock {
  type: "text" | "thinking";
  index: number;
}

const COUNTS = ["input_tokens", "output_tokens"] as const;

/** `model` is the name in the request: clients compare it with the one in the response. */
export class MessagesEncoder implements StreamEncoder {
  readonly #model: string;
  readonly #requestId: string;
  readonly #estimate: () => number;
  #out = "";
  #id: string | undefined;
  #hasStarted = false;
  /** The channel speaks the Messages API, so that its own events are written. */
  #isNative = false;
  /** The gateway has begun blocks that the channel did not send. */
  #hasOwnBlocks = false;
  /** Whether `message_delta` and `message_stop` have been written. */
  #endWritten = { delta: false, stop: false };
  #blocks = 0;
  #openBlock: OpenBlock | undefined;
  readonly #calls = new Map<number, ToolCall>();
  /** The upstream's index of a block → its index in this response. */
  readonly #sourceBlocks = new Map<number, number>();
  readonly #signed = new SignedReasoning();
  #extra: unknown;
  #finish: string | null = null;
  #usage: Usage | undefined;
  /** Characters of the model's texts and arguments so far. */
  #characters = 0;

  readonly #sequence = new PartSequence((part) => this.#writePart(part));

  /** `estimate` returns the tokens of the prompt, for channels that count them only at the end. */
  constructor(model: string, requestId: string, estimate: () => number = () => 0) {
    this.#model = model;
    this.#requestId = requestId;
    this.#estimate = estimate;
  }

  write(parts: readonly StreamPart[]): string {
    writeParts(parts, "anthropic", {
      event: (event) => this.#writeSourceEvent(event),
      part: (part) => {
        // A channel that speaks the format sends its blocks in order. Its parts have no event if they were changed.
        if (this.#isNative || part.source?.format === "anthropic") this.#writePart(part);
        else this.#sequence.add(part);
        return false;
      },
    });
    if (this.#id !== undefined && !this.#isNative) this.#start();
    return this.#take();
  }

  end(): string {
    this.#sequence.end();
    if (!this.#isNative) this.#start();
    this.#closeBlock();
    this.#closeCalls();
    if (!this.#endWritten.delta) this.#writeEnd();
    if (!this.#endWritten.stop) this.#write("message_stop", {});
    return this.#take();
  }

  fail(error: PorticoError): string {
    this.#sequence.end();
    return this.#take() + this.error(error);
  }

  error({ status, message }: PorticoError): string {
    const data = {
      type: "error",
      error: { type: errorType(status), message },
      request_id: this.#requestId,
    };
    return `event: error\ndata: ${JSON.stringify(data)}\n\n`;
  }

  // --------------------------------------------------------------------- parts of other formats, and changed parts

  #writePart(part: StreamPart): void {
    switch (part.type) {
      case "start":
        this.#id = part.id;
        return;
      case "usage":
        this.#usage = part.usage;
        return;
      case "comment":
      case "annotation":
      case "audio":
        return;
      case "raw":
        this.#noteExtra(part);
        return;
      case "finish":
        if (part.choice === 0) this.#finish = part.reason;
        return;
      default:
        if (part.choice === 0) this.#writeContent(part);
    }
  }

  #writeContent(
    part: Extract<StreamPart, { text: string; choice: number } | { type: "tool-call" }>,
  ): void {
    this.#start();
    switch (part.type) {
      case "text":
      case "refusal":
        this.#writeText("text", part.text);
        return;
      case "reasoning":
        this.#writeText("thinking", part.text);
        return;
      case "reasoning-signature":
        this.#signed.add(part);
        if (part.redacted !== true && this.#openBlock?.type === "thinking")
          this.#writeDelta(this.#openBlock.index, "signature_delta", "signature", part.data);
        return;
      case "tool-call":
        this.#startCall(part);
        return;
      case "tool-arguments":
        this.#writeArguments(part.index, part.text);
    }
  }

  #noteExtra({ at, choice, index, members }: RawPart): void {
    const extra = members["extra_content"];
    if (choice !== 0 || extra == null) return;
    const call = at === "call" && index !== undefined ? this.#calls.get(index) : undefined;
    if (call !== undefined) call.extra_content = extra;
    else if (at === "delta") this.#extra = extra;
  }

  #start(): void {
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    const message = {
      id: messageId(this.#id ?? `msg_${this.#requestId}`),
      type: "message",
      role: "assistant",
      model: this.#model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: this.#usageSoFar(),
    };
    this.#write("message_start", { message });
    this.#write("ping", {});
  }

  /** Returns an estimate until the channel has counted: clients show with it how full the context is. */
  #usageSoFar(): MessageUsage {
    if (hasCounted(this.#usage)) return usageOf(this.#usage);
    return estimatedUsage(this.#estimate(), this.#characters);
  }

  #writeText(type: OpenBlock["type"], text: string): void {
    this.#characters += text.length;
    if (this.#openBlock?.type !== type) {
      this.#closeBlock();
      this.#closeCalls();
      const empty = type === "text" ? { type, text: "" } : { type, thinking: "", signature: "" };
      this.#openBlock = { type, index: this.#beginBlock(empty) };
    }
    this.#writeDelta(this.#openBlock.index, `${type}_delta`, type, text);
  }

  #startCall({ index, id, name, extra }: StreamedCallPart): void {
    this.#closeBlock();
    this.#closeCalls();
    const block = this.#beginBlock({ type: "tool_use", id, name, input: {} });
    const call: ToolCall = { id, block, args: "", extra_content: extra, isOpen: true };
    this.#calls.set(index, call);
  }

  #writeArguments(index: number, text: string): void {
    const call = this.#calls.get(index);
    if (call === undefined || !call.isOpen || text === "") return;
    call.args += text;
    this.#characters += text.length;
    this.#writeDelta(call.block, "input_json_delta", "partial_json", text);
  }

  #beginBlock(contentBlock: object): number {
    this.#hasOwnBlocks = true;
    const index = this.#blocks++;
    this.#write("content_block_start", { index, content_block: contentBlock });
    return index;
  }

  #closeBlock(): void {
    if (this.#openBlock === undefined) return;
    this.#write("content_block_stop", { index: this.#openBlock.index });
    this.#openBlock = undefined;
  }

  #closeCall(call: ToolCall): void {
    if (!call.isOpen) return;
    if (call.args === "") this.#writeDelta(call.block, "input_json_delta", "partial_json", "{}");
    call.isOpen = false;
    this.#write("content_block_stop", { index: call.block });
  }

  #closeCalls(): void {
    for (const call of this.#calls.values()) this.#closeCall(call);
  }

  #writeEnd(): void {
    const calls = [...this.#calls.values()];
    const extra = this.#extra ?? this.#signed.extraContent(calls.length > 0);
    const sealed = sealExtras(extra, calls);
    if (sealed !== undefined) {
      const index = this.#beginBlock({ type: "redacted_thinking", data: sealed });
      this.#write("content_block_stop", { index });
    }
    const delta = { stop_reason: stopReason(this.#finish, calls.length > 0), stop_sequence: null };
    this.#write("message_delta", { delta, usage: this.#usageSoFar() });
  }

  // ------------------------------------------------------------------------ events of a channel that speaks the format

  /** Writes an event of a channel that speaks the Messages API. Only the index of the block and the model may change. */
  #writeSourceEvent(event: SourceEvent): void {
    this.#isNative = true;
    for (const part of event.parts) this.#notePart(part);
    const { type, index } = event.value as { type: string; index?: number };
    switch (type) {
      case "message_start":
        this.#writeSourceStart(event);
        return;
      case "content_block_start":
        this.#beginSourceBlock(event, index ?? 0);
        return;
      case "content_block_delta":
        this.#writeSourceDelta(event, index ?? 0);
        return;
      case "content_block_stop":
        this.#endSourceBlock(event, index ?? 0);
        return;
      case "message_delta":
        this.#writeSourceMessageDelta(event);
        return;
      case "message_stop":
        if (!this.#endWritten.delta) return;
        this.#endWritten.stop = true;
        break;
      default:
        break;
    }
    this.#writeJson(type, event.json);
  }

  #notePart(part: StreamPart): void {
    if (part.type === "usage") this.#usage = part.usage;
    else if (part.type === "finish" && part.choice === 0) this.#finish = part.reason;
  }

  #writeSourceStart(event: SourceEvent): void {
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    const value = JSON.parse(event.json) as { message?: { model?: unknown } };
    const { message } = value;
    if (typeof message?.model !== "string" || message.model === this.#model)
      this.#writeJson("message_start", event.json);
    else this.#write("message_start", { ...value, message: { ...message, model: this.#model } });
  }

  #beginSourceBlock(event: SourceEvent, sourceIndex: number): void {
    // A block of the gateway may be open: a text that was inserted before this block.
    this.#closeBlock();
    const index = this.#blocks++;
    this.#sourceBlocks.set(sourceIndex, index);
    const block = event.value["content_block"] as { type?: string } | undefined;
    if (block?.type === "text" || block?.type === "thinking")
      this.#openBlock = { type: block.type, index };
    const call = event.parts.find((part) => part.type === "tool-call");
    if (call?.type === "tool-call")
      this.#calls.set(call.index, { id: call.id, block: index, args: "", isOpen: true });
    this.#writeAt(event, sourceIndex, index);
  }

  #writeSourceDelta(event: SourceEvent, sourceIndex: number): void {
    const args = event.parts.find((part) => part.type === "tool-arguments");
    const call = args?.type === "tool-arguments" ? this.#calls.get(args.index) : undefined;
    if (args?.type === "tool-arguments" && call !== undefined) {
      call.args += args.text;
      this.#sourceBlocks.set(sourceIndex, call.block);
    }
    if (!this.#hasOwnBlocks) {
      this.#writeJson("content_block_delta", event.json);
      return;
    }
    const index = this.#sourceBlocks.get(sourceIndex);
    const isOpen = call !== undefined ? call.isOpen : index === this.#openBlock?.index;
    // The upstream's block never began, or was closed for an inserted text, so its text continues in another block.
    if (index === undefined || !isOpen) for (const part of event.parts) this.#writePart(part);
    else this.#writeAt(event, sourceIndex, index);
  }

  #endSourceBlock(event: SourceEvent, sourceIndex: number): void {
    const index = this.#sourceBlocks.get(sourceIndex);
    const call = [...this.#calls.values()].find(({ block }) => block === index);
    if (call !== undefined) {
      if (!call.isOpen) return;
      call.isOpen = false;
    } else if (this.#openBlock !== undefined) {
      if (this.#openBlock.index !== index) return;
      this.#openBlock = undefined;
    }
    if (index !== undefined) this.#writeAt(event, sourceIndex, index);
  }

  /** Replaces zero counts by the known ones: clients use the last count that they receive. */
  #writeSourceMessageDelta({ json, value }: SourceEvent): void {
    this.#closeBlock();
    this.#closeCalls();
    this.#endWritten.delta = true;
    const usage = value["usage"] as Record<string, unknown> | undefined;
    const counted = usageOf(this.#usage);
    const zeroed = COUNTS.filter((name) => usage?.[name] === 0 && counted[name] > 0);
    if (zeroed.length === 0) {
      this.#writeJson("message_delta", json);
      return;
    }
    const counts = Object.fromEntries(zeroed.map((name) => [name, counted[name]]));
    this.#write("message_delta", { ...value, usage: { ...usage, ...counts } });
  }

  #writeAt(event: SourceEvent, sourceIndex: number, index: number): void {
    const type = String(event.value["type"]);
    if (sourceIndex === index) this.#writeJson(type, event.json);
    else this.#write(type, { ...(JSON.parse(event.json) as object), index });
  }

  #write(type: string, fields: object): void {
    this.#writeJson(type, JSON.stringify({ type, ...fields }));
  }

  #writeJson(type: string, json: string): void {
    this.#out += `event: ${type}\ndata: ${json}\n\n`;
  }

  #writeDelta(index: number, type: string, key: string, text: string): void {
    this.#write("content_block_delta", { index, delta: { type, [key]: text } });
  }

  #take(): string {
    const out = this.#out;
    this.#out = "";
    return out;
  }
}
