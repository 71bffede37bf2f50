/** Reads one stream of Anthropic's events. */
import {
  clientCallId,
  ContentBlocks,
  createPartDecoder,
  createSseParser,
  cutShort,
  errorInResponse,
  notJson,
  OpenSource,
  type PartDecoder,
  parseResponse,
  PartWriter,
  repairCounts,
  type Target,
  readText,
  type TrackerOptions,
  type WireRequest,
} from "portico/provider";
import type { ContentBlock, MessageUsage } from "./response.ts";
import { finishReason, readUsage } from "./response.ts";
import { readProblem } from "./problem.ts";
import type { Sent } from "./request.ts";

interface Event {
  type?: string;
  index?: number;
  message?: { id?: string; model?: string; usage?: MessageUsage };
  content_block?: ContentBlock;
  delta?: Delta;
  usage?: MessageUsage;
  error?: unknown;
}

interface Delta {
  type?: string;
  text?: string;
  partial_json?: string;
  thinking?: string;
  signature?: string;
  stop_reason?: string | null;
}

/** Decodes a stream for clients of other formats. */
export function decodeStream(sent: WireRequest, target: Target): PartDecoder {
  const { origin, names } = sent.state as Sent;
  const options = { idOf: clientCallId, nameOf: names.original };
  return new EventReader(target, origin, options).decoder();
}

/** Decodes a stream for clients that speak the Messages API. Each part refers to its event, and ids remain unchanged. */
export function decodeNative(sent: WireRequest, target: Target): PartDecoder {
  const { origin } = sent.state as Sent;
  return new EventReader(target, origin, { isNative: true }).decoder();
}

class EventReader {
  readonly #out: PartWriter;
  readonly #blocks: ContentBlocks;
  readonly #target: Target;
  readonly #isNative: boolean;
  #usage: MessageUsage | undefined;
  #done = false;

  constructor(target: Target, origin: string, options: TrackerOptions) {
    const { id, created, model } = target;
    this.#target = target;
    this.#isNative = options.isNative === true;
    this.#out = new PartWriter({ id, created, model }, options);
    this.#blocks = new ContentBlocks(this.#out, origin);
  }

  decoder(): PartDecoder {
    const parser = createSseParser((data, name) => this.#readEvent(data, name));
    return createPartDecoder({
      out: this.#out,
      reader: parser,
      close: () => {
        if (!this.#out.finished) throw cutShort();
        this.#done = true;
      },
      done: () => this.#done,
    });
  }

  #readEvent(data: Buffer, name: string): void {
    const isPing = name === "ping" && !this.#isNative;
    if (this.#done || isPing) return;
    const event = parseResponse(data) as Event | undefined;
    if (event === undefined) {
      // An event that is cut off after the end loses nothing.
      if (this.#out.finished) return;
      throw notJson();
    }
    const type = event.error ? "error" : (event.type ?? name);
    if (type === "error") throw errorInResponse(readProblem(0, data));
    if (!this.#isNative) {
      this.#read(type, event);
      return;
    }
    const repaired = [event.message?.usage, event.usage].map((usage) => repairCounts(usage));
    // The JSON may span several lines of data. Between its tokens a line end means the same as a space.
    const json = repaired.includes(true)
      ? undefined
      : data.toString("utf8").replace(/[\r\n]/g, " ");
    const source = new OpenSource("anthropic", { ...event, type }, json);
    this.#out.event(source, () => this.#read(type, event));
  }

  #read(type: string, event: Event): void {
    const index = event.index ?? 0;
    switch (type) {
      case "message_start":
        this.#begin(event.message ?? {});
        return;
      case "content_block_start":
        this.#beginBlock(index, event.content_block ?? { type: "" });
        return;
      case "content_block_delta":
        this.#readDelta(index, event.delta ?? {});
        return;
      case "content_block_stop":
        this.#blocks.end(index);
        return;
      case "message_delta":
        this.#addUsage(event.usage);
        if (event.delta?.stop_reason) this.#finish(event.delta.stop_reason);
        return;
      case "message_stop":
        if (!this.#out.finished) this.#finish("");
        this.#done = true;
        return;
      default:
        // Ignores event types that are newer than this file.
        return;
    }
  }

  #begin({ id, model, usage }: NonNullable<Event["message"]>): void {
    this.#out.start({
      id: id ? `chatcmpl-${id}` : this.#target.id,
      model: readText(model, this.#target.model),
    });
    this.#out.begin(0);
    this.#addUsage(usage);
  }

  #beginBlock(index: number, block: ContentBlock): void {
    const { type, text, thinking, signature } = block;
    if (type === "tool_use") this.#blocks.toolCall(index, block.id, block.name, block.input);
    else if (type === "text" && text) this.#out.text(text);
    else if (type === "thinking" && thinking) this.#blocks.reasoning(index, thinking);
    else if (type === "redacted_thinking") this.#blocks.sealed(block.data ?? "");
    if (signature) this.#blocks.signature(index, signature);
  }

  #readDelta(index: number, { type, text, partial_json, thinking, signature }: Delta): void {
    if (type === "text_delta" && text) this.#out.text(text);
    else if (type === "thinking_delta" && thinking) this.#blocks.reasoning(index, thinking);
    else if (type === "signature_delta" && signature) this.#blocks.signature(index, signature);
    else if (type === "input_json_delta" && partial_json)
      this.#blocks.toolArguments(index, partial_json);
  }

  /** Counts of later events replace earlier ones; counts that they leave out remain. */
  #addUsage(usage: MessageUsage | undefined): void {
    if (usage === undefined) return;
    this.#usage = { ...this.#usage, ...positiveCounts(usage) };
    this.#out.tell(readUsage(this.#usage));
  }

  #finish(reason: string): void {
    this.#blocks.endAll();
    this.#out.finish(finishReason(reason, this.#blocks.called));
  }
}

/** Removes counts that are missing or 0. */
function positiveCounts(usage: MessageUsage): MessageUsage {
  return Object.fromEntries(
    Object.entries(usage).filter(
      ([, value]) => value !== null && value !== undefined && value !== 0,
    ),
  );
}
