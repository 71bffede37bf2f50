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
interface Call {
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

/** `model` is what the caller asked for: clients compare it with what the response names. */
export class MessagesEncoder implements StreamEncoder {
  readonly #model: string;
  readonly #requestId: string;
  readonly #estimate: () => number;
  #out = "";
  #id: string | undefined;
  #started = false;
  /** The channel speaks the Messages API: its own events are written. */
  #isNative = false;
  /** There are blocks that the channel has not sent. */
  #hasOwnBlocks = false;
  /** `message_delta` and `message_stop` have gone out. */
  #closing = { delta: false, stop: false };
  #blocks = 0;
  #open: OpenBlock | undefined;
  readonly #calls = new Map<number, Call>();
  /** Blocks of the upstream, by its own index, with the index that they have here. */
  readonly #sourceBlocks = new Map<number, number>();
  readonly #signed = new SignedReasoning();
  #extra: unknown;
  #finish: string | null = null;
  #usage: Usage | undefined;
  /** Characters of the model's texts and arguments so far. */
  #characters = 0;

  readonly #sequence = new PartSequence((part) => this.#part(part));

  /** `estimate`: the tokens of the prompt, for channels that count them at the end only. */
  constructor(model: string, requestId: string, estimate: () => number = () => 0) {
    this.#model = model;
    this.#requestId = requestId;
    this.#estimate = estimate;
  }

  write(parts: readonly StreamPart[]): string {
    writeParts(parts, "anthropic", {
      event: (event) => this.#event(event),
      part: (part) => {
        // A channel that speaks the format has put its blocks in order. A changed part of it has no event.
        if (this.#isNative || part.source?.format === "anthropic") this.#part(part);
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
    this.#close();
    this.#closeCalls();
    if (!this.#closing.delta) this.#writeEnd();
    if (!this.#closing.stop) this.#write("message_stop", {});
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

  // ---------------------------------------------------------------- parts of other formats, and parts that were changed

  #part(part: StreamPart): void {
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
        this.#raw(part);
        return;
      case "finish":
        if (part.choice === 0) this.#finish = part.reason;
        return;
      default:
        if (part.choice === 0) this.#content(part);
    }
  }

  #content(
    part: Extract<StreamPart, { text: string; choice: number } | { type: "tool-call" }>,
  ): void {
    this.#start();
    switch (part.type) {
      case "text":
      case "refusal":
        this.#say("text", part.text);
        return;
      case "reasoning":
        this.#say("thinking", part.text);
        return;
      case "reasoning-signature":
        this.#signed.add(part);
        if (part.redacted !== true && this.#open?.type === "thinking")
          this.#delta(this.#open.index, "signature_delta", "signature", part.data);
        return;
      case "tool-call":
        this.#startCall(part);
        return;
      case "tool-arguments":
        this.#arguments(part.index, part.text);
    }
  }

  #raw({ at, choice, index, members }: RawPart): void {
    const extra = members["extra_content"];
    if (choice !== 0 || extra == null) return;
    const call = at === "call" && index !== undefined ? this.#calls.get(index) : undefined;
    if (call !== undefined) call.extra_content = extra;
    else if (at === "delta") this.#extra = extra;
  }

  #start(): void {
    if (this.#started) return;
    this.#started = true;
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

  /** Clients show by it how full the context is: an estimate stands until the channel has counted. */
  #usageSoFar(): MessageUsage {
    if (hasCounted(this.#usage)) return usageOf(this.#usage);
    return estimatedUsage(this.#estimate(), this.#characters);
  }

  #say(type: OpenBlock["type"], text: string): void {
    this.#characters += text.length;
    if (this.#open?.type !== type) {
      this.#close();
      this.#closeCalls();
      const empty = type === "text" ? { type, text: "" } : { type, thinking: "", signature: "" };
      this.#open = { type, index: this.#openBlock(empty) };
    }
    this.#delta(this.#open.index, `${type}_delta`, type, text);
  }

  #startCall({ index, id, name, extra }: StreamedCallPart): void {
    this.#close();
    this.#closeCalls();
    const block = this.#openBlock({ type: "tool_use", id, name, input: {} });
    const call: Call = { id, block, args: "", extra_content: extra, isOpen: true };
    this.#calls.set(index, call);
  }

  #arguments(index: number, text: string): void {
    const call = this.#calls.get(index);
    if (call === undefined || !call.isOpen || text === "") return;
    call.args += text;
    this.#characters += text.length;
    this.#delta(call.block, "input_json_delta", "partial_json", text);
  }

  #openBlock(contentBlock: object): number {
    this.#hasOwnBlocks = true;
    const index = this.#blocks++;
    this.#write("content_block_start", { index, content_block: contentBlock });
    return index;
  }

  #close(): void {
    if (this.#open === undefined) return;
    this.#write("content_block_stop", { index: this.#open.index });
    this.#open = undefined;
  }

  #closeCall(call: Call): void {
    if (!call.isOpen) return;
    if (call.args === "") this.#delta(call.block, "input_json_delta", "partial_json", "{}");
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
      const index = this.#openBlock({ type: "redacted_thinking", data: sealed });
      this.#write("content_block_stop", { index });
    }
    const delta = { stop_reason: stopReason(this.#finish, calls.length > 0), stop_sequence: null };
    this.#write("message_delta", { delta, usage: this.#usageSoFar() });
  }

  // ------------------------------------------------------------------------ events of a channel that speaks the format

  /** An event of a channel that speaks the Messages API. Only its block's index and the model's name may differ here. */
  #event(event: SourceEvent): void {
    this.#isNative = true;
    for (const part of event.parts) this.#note(part);
    const { type, index } = event.value as { type: string; index?: number };
    switch (type) {
      case "message_start":
        this.#startLike(event);
        return;
      case "content_block_start":
        this.#blockLike(event, index ?? 0);
        return;
      case "content_block_delta":
        this.#deltaLike(event, index ?? 0);
        return;
      case "content_block_stop":
        this.#stopLike(event, index ?? 0);
        return;
      case "message_delta":
        this.#deltaOfMessageLike(event);
        return;
      case "message_stop":
        if (!this.#closing.delta) return;
        this.#closing.stop = true;
        break;
      default:
        break;
    }
    this.#writeJson(type, event.json);
  }

  #note(part: StreamPart): void {
    if (part.type === "usage") this.#usage = part.usage;
    else if (part.type === "finish" && part.choice === 0) this.#finish = part.reason;
  }

  #startLike(event: SourceEvent): void {
    if (this.#started) return;
    this.#started = true;
    const own = JSON.parse(event.json) as { message?: { model?: unknown } };
    const { message } = own;
    if (typeof message?.model !== "string" || message.model === this.#model)
      this.#writeJson("message_start", event.json);
    else this.#write("message_start", { ...own, message: { ...message, model: this.#model } });
  }

  #blockLike(event: SourceEvent, sourceIndex: number): void {
    // Something of ours may be open: a text that was put in front.
    this.#close();
    const index = this.#blocks++;
    this.#sourceBlocks.set(sourceIndex, index);
    const block = event.value["content_block"] as { type?: string } | undefined;
    if (block?.type === "text" || block?.type === "thinking")
      this.#open = { type: block.type, index };
    const call = event.parts.find((part) => part.type === "tool-call");
    if (call?.type === "tool-call")
      this.#calls.set(call.index, { id: call.id, block: index, args: "", isOpen: true });
    this.#writeAt(event, sourceIndex, index);
  }

  #deltaLike(event: SourceEvent, sourceIndex: number): void {
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
    const isOpen = call !== undefined ? call.isOpen : index === this.#open?.index;
    // The block was opened for a text of ours, or closed in favour of one: its text goes on in another block.
    if (index === undefined || !isOpen) for (const part of event.parts) this.#part(part);
    else this.#writeAt(event, sourceIndex, index);
  }

  #stopLike(event: SourceEvent, sourceIndex: number): void {
    const index = this.#sourceBlocks.get(sourceIndex);
    const call = [...this.#calls.values()].find(({ block }) => block === index);
    if (call !== undefined) {
      if (!call.isOpen) return;
      call.isOpen = false;
    } else if (this.#open !== undefined) {
      if (this.#open.index !== index) return;
      this.#open = undefined;
    }
    if (index !== undefined) this.#writeAt(event, sourceIndex, index);
  }

  /** Clients take the last count that they see, so zeros do not follow real numbers. */
  #deltaOfMessageLike({ json, value }: SourceEvent): void {
    this.#close();
    this.#closeCalls();
    this.#closing.delta = true;
    const usage = value["usage"] as Record<string, unknown> | undefined;
    const known = usageOf(this.#usage);
    const lost = COUNTS.filter((name) => usage?.[name] === 0 && known[name] > 0);
    if (lost.length === 0) {
      this.#writeJson("message_delta", json);
      return;
    }
    const counts = Object.fromEntries(lost.map((name) => [name, known[name]]));
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

  #delta(index: number, type: string, key: string, text: string): void {
    this.#write("content_block_delta", { index, delta: { type, [key]: text } });
  }

  #take(): string {
    const out = this.#out;
    this.#out = "";
    return out;
  }
}
