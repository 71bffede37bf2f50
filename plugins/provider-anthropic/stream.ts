import type { PorticoError } from "portico";
import {
  carryThinking,
  type ChunkWriter,
  clientCallId,
  createChunkWriter,
  createDecoder,
  createSseParser,
  createFastPath,
  cutShort,
  errorInResponse,
  notJson,
  parseObject,
  type StreamDecoder,
  type Target,
  type ThinkingBlock,
  type Usage,
  type WireRequest,
} from "portico/chat";
import type { ContentBlock, MessageUsage } from "./answer.ts";
import { finishReason, readUsage } from "./answer.ts";
import { readProblem } from "./problem.ts";
import type { Sent } from "./request.ts";

interface Event {
  type?: string;
  index?: number;
  message?: { id?: string; model?: string; usage?: MessageUsage };
  content_block?: ContentBlock;
  delta?: {
    type?: string;
    text?: string;
    partial_json?: string;
    thinking?: string;
    signature?: string;
    stop_reason?: string | null;
  };
  usage?: MessageUsage;
}

/** A block whose end has not come yet. */
interface OpenBlock {
  type: string;
  /** Of a tool call: its place among the calls, what came with the start, and whether fragments followed. */
  call: number;
  input: unknown;
  fragments: boolean;
  thinking: string;
  signature: string;
}

/** Translates one stream of Anthropic's events. */
export function decodeStream(sent: WireRequest, target: Target): StreamDecoder {
  const { includeUsage, origin } = sent.state as Sent;
  const blocks = new Map<number, OpenBlock>();
  const thinking: ThinkingBlock[] = [];
  let tokens: MessageUsage | undefined;
  let calls = 0;
  let writer: ChunkWriter | undefined;
  let finish: string | undefined;
  let done = false;
  let failure: PorticoError | undefined;

  function out(): ChunkWriter {
    writer ??= createChunkWriter({ id: target.id, created: target.created, model: target.model, includeUsage });
    return writer;
  }

  function onEvent(data: Buffer, name: string): void {
    if (done || failure !== undefined || name === "ping") return;
    const event = parseObject(data) as Event | undefined;
    if (event === undefined) {
      failure = notJson();
      return;
    }
    switch (event.type ?? name) {
      case "message_start":
        begin(event);
        break;
      case "content_block_start":
        openBlock(event.index ?? 0, event.content_block ?? { type: "" });
        break;
      case "content_block_delta":
        delta(event);
        break;
      case "content_block_stop":
        closeBlock(event.index ?? 0);
        break;
      case "message_delta":
        if (event.usage !== undefined) tokens = { ...tokens, ...present(event.usage) };
        if (event.delta?.stop_reason) end(event.delta.stop_reason);
        break;
      case "message_stop":
        close();
        break;
      case "error":
        failure = errorInResponse(readProblem(0, data));
        break;
      default:
        // Kinds of events that are newer than this file.
        break;
    }
  }

  function begin(event: Event): void {
    const message = event.message ?? {};
    tokens = message.usage;
    writer ??= createChunkWriter({
      id: message.id ? `chatcmpl-${message.id}` : target.id,
      created: target.created,
      model: message.model ?? target.model,
      includeUsage,
    });
    writer.role();
  }

  function openBlock(index: number, block: ContentBlock): void {
    const open: OpenBlock = {
      type: block.type,
      call: -1,
      input: block.input,
      fragments: false,
      thinking: block.thinking ?? "",
      signature: block.signature ?? "",
    };
    blocks.set(index, open);
    if (block.type === "tool_use") {
      open.call = calls++;
      out().toolCall(open.call, clientCallId(block.id), block.name ?? "");
    } else if (block.type === "text" && block.text) {
      out().text(block.text);
    } else if (block.type === "thinking" && block.thinking) {
      out().reasoning(block.thinking);
    } else if (block.type === "redacted_thinking") {
      thinking.push({ sealed: block.data ?? "" });
    }
  }

  function delta(event: Event): void {
    const { type, text, partial_json, thinking: thought, signature } = event.delta ?? {};
    const open = blocks.get(event.index ?? 0);
    if (type === "text_delta" && typeof text === "string") {
      lane.learn();
      if (text !== "") out().text(text);
    } else if (type === "thinking_delta" && typeof thought === "string") {
      if (open !== undefined) open.thinking += thought;
      if (thought !== "") out().reasoning(thought);
    } else if (type === "signature_delta" && open !== undefined) {
      open.signature += signature ?? "";
    } else if (type === "input_json_delta" && open !== undefined && open.call >= 0 && partial_json) {
      open.fragments = true;
      out().toolArguments(open.call, partial_json);
    }
  }

  function closeBlock(index: number): void {
    const open = blocks.get(index);
    if (open === undefined) return;
    blocks.delete(index);
    if (open.type === "tool_use" && !open.fragments) out().toolArguments(open.call, JSON.stringify(open.input ?? {}));
    if (open.type === "thinking" && open.signature !== "") {
      thinking.push({ text: open.thinking, signature: open.signature });
    }
  }

  function end(reason: string): void {
    if (finish !== undefined) return;
    // Blocks that were never closed: their calls still need arguments.
    for (const index of [...blocks.keys()]) closeBlock(index);
    if (calls > 0 && thinking.length > 0) out().delta({ extra_content: carryThinking(origin, thinking) });
    finish = finishReason(reason, calls > 0);
    out().finish(finish);
  }

  function close(): void {
    if (finish === undefined) end("");
    const usage = usageSoFar();
    if (usage !== undefined) out().usage(usage);
    out().done();
    done = true;
  }

  function usageSoFar(): Usage | undefined {
    return tokens === undefined ? undefined : readUsage(tokens);
  }

  const lane = createFastPath({
    key: "text",
    events: "blocks",
    parser: createSseParser(onEvent),
    onText(bytes, start, end) {
      if (!done && failure === undefined) out().textSlice(bytes, start, end);
    },
  });
  return createDecoder({
    push: lane.push,
    flush: lane.end,
    close() {
      if (finish === undefined) throw cutShort();
      close();
    },
    take: () => writer?.take(),
    usage: usageSoFar,
    finishReason: () => finish,
    failure: () => failure,
    done: () => done,
  });
}

/** Without the fields that say nothing. */
export function present(usage: MessageUsage): MessageUsage {
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null && value !== undefined));
}
