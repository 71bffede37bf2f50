import type { PorticoError } from "portico";
import {
  type ChunkWriter,
  createBlockStream,
  createChunkWriter,
  createDecoder,
  createSseParser,
  createFastPath,
  cutShort,
  errorInResponse,
  notJson,
  parseResponse,
  type StreamDecoder,
  type Target,
  type Usage,
  type WireRequest,
  toldText,
} from "portico/chat";
import type { ContentBlock, MessageUsage } from "./response.ts";
import { finishReason, readUsage } from "./response.ts";
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
  error?: unknown;
}

/** Translates one stream of Anthropic's events. */
export function decodeStream(sent: WireRequest, target: Target): StreamDecoder {
  const { includeUsage, origin, names } = sent.state as Sent;
  let tokens: MessageUsage | undefined;
  let writer: ChunkWriter | undefined;
  let finish: string | undefined;
  let done = false;
  let failure: PorticoError | undefined;

  function out(): ChunkWriter {
    writer ??= createChunkWriter({
      id: target.id,
      created: target.created,
      model: target.model,
      includeUsage,
    });
    return writer;
  }

  const blocks = createBlockStream(out, { origin, names });

  function onEvent(data: Buffer, name: string): void {
    if (done || failure !== undefined || name === "ping") return;
    const event = parseResponse(data) as Event | undefined;
    if (event === undefined) {
      if (finish === undefined) failure = notJson();
      return;
    }
    switch (event.error ? "error" : (event.type ?? name)) {
      case "message_start":
        begin(event);
        break;
      case "content_block_start":
        onBlock(event.index ?? 0, event.content_block ?? { type: "" });
        break;
      case "content_block_delta":
        onDelta(event.index ?? 0, event.delta ?? {});
        break;
      case "content_block_stop":
        blocks.end(event.index ?? 0);
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
      model: toldText(message.model, target.model),
      includeUsage,
    });
    writer.role();
  }

  function onBlock(index: number, block: ContentBlock): void {
    if (block.type === "tool_use") blocks.toolCall(index, block.id, block.name, block.input);
    else if (block.type === "text" && block.text) out().text(block.text);
    else if (block.type === "thinking" && block.thinking) blocks.reasoning(index, block.thinking);
    else if (block.type === "redacted_thinking") blocks.sealed(block.data ?? "");
    if (block.signature) blocks.signature(index, block.signature);
  }

  function onDelta(index: number, delta: NonNullable<Event["delta"]>): void {
    const { type, text, partial_json, thinking, signature } = delta;
    if (type === "text_delta" && typeof text === "string") {
      fastPath.learn();
      if (text !== "") out().text(text);
    } else if (type === "thinking_delta" && thinking) blocks.reasoning(index, thinking);
    else if (type === "signature_delta" && signature) blocks.signature(index, signature);
    else if (type === "input_json_delta" && partial_json) blocks.toolArguments(index, partial_json);
  }

  function end(reason: string): void {
    if (finish !== undefined) return;
    finish = finishReason(reason, blocks.endAll());
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

  const fastPath = createFastPath({
    key: "text",
    events: "blocks",
    parser: createSseParser(onEvent),
    onText(bytes, start, end) {
      if (!done && failure === undefined) out().textSlice(bytes, start, end);
    },
  });
  return createDecoder({
    push: fastPath.push,
    flush: fastPath.end,
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
  return Object.fromEntries(
    Object.entries(usage).filter(
      ([, value]) => value !== null && value !== undefined && value !== 0,
    ),
  );
}
