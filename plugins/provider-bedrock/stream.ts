import type { PorticoError } from "portico";
import {
  carryThinking,
  clientCallId,
  createChunkWriter,
  createDecoder,
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
import type { TokenUsage } from "./answer.ts";
import { finishReason, readUsage } from "./answer.ts";
import type { Frame } from "./event-stream.ts";
import { readFrames } from "./event-stream.ts";
import { readException } from "./problem.ts";
import type { Sent } from "./request.ts";

interface Payload {
  contentBlockIndex?: number;
  start?: { toolUse?: { toolUseId?: string; name?: string } };
  delta?: {
    text?: string;
    toolUse?: { input?: string };
    reasoningContent?: { text?: string; signature?: string; redactedContent?: string };
  };
  stopReason?: string;
  usage?: TokenUsage;
}

/** A block whose end has not come yet. */
interface OpenBlock {
  call: number;
  fragments: boolean;
  thinking: string;
  signature: string;
}

/** Translates one stream of Converse's binary events. */
export function decodeStream(sent: WireRequest, target: Target): StreamDecoder {
  const { includeUsage, origin } = sent.state as Sent;
  const writer = createChunkWriter({ id: target.id, created: target.created, model: target.model, includeUsage });
  const blocks = new Map<number, OpenBlock>();
  const thinking: ThinkingBlock[] = [];
  let calls = 0;
  let usage: Usage | undefined;
  let finish: string | undefined;
  let done = false;
  let failure: PorticoError | undefined;

  function onFrame(frame: Frame): void {
    if (done || failure !== undefined) return;
    const kind = frame.headers[":message-type"];
    if (kind === "exception" || kind === "error") {
      const type = frame.headers[":exception-type"] ?? frame.headers[":error-code"];
      const problem = readException(type, frame.payload);
      failure = errorInResponse({ ...problem, message: frame.headers[":error-message"] ?? problem.message });
      return;
    }
    const payload = parseObject(frame.payload) as Payload | undefined;
    if (payload === undefined) {
      failure = notJson();
      return;
    }
    onEvent(frame.headers[":event-type"] ?? "", payload);
  }

  function onEvent(type: string, payload: Payload): void {
    const index = payload.contentBlockIndex ?? 0;
    switch (type) {
      case "messageStart":
        writer.role();
        break;
      case "contentBlockStart":
        startBlock(index, payload);
        break;
      case "contentBlockDelta":
        onDelta(index, payload.delta ?? {});
        break;
      case "contentBlockStop":
        closeBlock(index);
        break;
      case "messageStop":
        stop(payload.stopReason);
        break;
      case "metadata":
        if (payload.usage !== undefined) usage = readUsage(payload.usage);
        if (finish !== undefined) close();
        break;
      default:
        // Kinds of events that are newer than this file.
        break;
    }
  }

  function startBlock(index: number, payload: Payload): void {
    const use = payload.start?.toolUse;
    if (use === undefined) return;
    openBlock(index).call = calls;
    writer.toolCall(calls++, clientCallId(use.toolUseId), use.name ?? "");
  }

  /** Texts and reasoning begin without a start of their own. */
  function openBlock(index: number): OpenBlock {
    const open = blocks.get(index) ?? { call: -1, fragments: false, thinking: "", signature: "" };
    blocks.set(index, open);
    return open;
  }

  function onDelta(index: number, { text, toolUse, reasoningContent: reasoning }: NonNullable<Payload["delta"]>): void {
    if (text) writer.text(text);
    const open = openBlock(index);
    if (toolUse?.input && open.call >= 0) {
      open.fragments = true;
      writer.toolArguments(open.call, toolUse.input);
    }
    if (reasoning?.text) {
      open.thinking += reasoning.text;
      writer.reasoning(reasoning.text);
    }
    if (reasoning?.signature) open.signature += reasoning.signature;
    if (reasoning?.redactedContent) thinking.push({ sealed: reasoning.redactedContent });
  }

  function closeBlock(index: number): void {
    const open = blocks.get(index);
    if (open === undefined) return;
    blocks.delete(index);
    if (open.call >= 0 && !open.fragments) writer.toolArguments(open.call, "{}");
    if (open.signature !== "") thinking.push({ text: open.thinking, signature: open.signature });
  }

  function stop(reason: string | undefined): void {
    for (const index of [...blocks.keys()]) closeBlock(index);
    try {
      finish = finishReason(reason, calls > 0);
    } catch (error) {
      failure = error as PorticoError;
      return;
    }
    if (calls > 0 && thinking.length > 0) writer.delta({ extra_content: carryThinking(origin, thinking) });
    writer.finish(finish);
  }

  function close(): void {
    if (usage !== undefined) writer.usage(usage);
    writer.done();
    done = true;
  }

  const frames = readFrames(onFrame);
  return createDecoder({
    push(bytes) {
      try {
        frames.push(bytes);
      } catch (error) {
        failure ??= error as PorticoError;
      }
    },
    close() {
      // The usage comes last; without it the answer is still whole.
      if (finish === undefined) throw cutShort();
      close();
    },
    take: () => writer.take(),
    usage: () => usage,
    finishReason: () => finish,
    failure: () => failure,
    done: () => done,
  });
}
