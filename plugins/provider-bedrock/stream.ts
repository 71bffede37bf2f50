import type { PorticoError } from "portico";
import {
  createBlockStream,
  createChunkWriter,
  createDecoder,
  cutShort,
  errorInResponse,
  notJson,
  parseResponse,
  type StreamDecoder,
  type Target,
  type Usage,
  type WireRequest,
  laterUsage,
} from "portico/chat";
import type { TokenUsage } from "./response.ts";
import { finishReason, readUsage } from "./response.ts";
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

/** Translates one stream of Converse's binary events. */
export function decodeStream(sent: WireRequest, target: Target): StreamDecoder {
  const { includeUsage, origin, names } = sent.state as Sent;
  const writer = createChunkWriter({
    id: target.id,
    created: target.created,
    model: target.model,
    includeUsage,
  });
  const blocks = createBlockStream(() => writer, { origin, names });
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
      failure = errorInResponse({
        ...problem,
        message: frame.headers[":error-message"] ?? problem.message,
      });
      return;
    }
    const payload = parseResponse(frame.payload) as Payload | undefined;
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
        onStart(index, payload.start?.toolUse);
        break;
      case "contentBlockDelta":
        onDelta(index, payload.delta ?? {});
        break;
      case "contentBlockStop":
        blocks.end(index);
        break;
      case "messageStop":
        stop(payload.stopReason);
        break;
      case "metadata":
        if (payload.usage !== undefined) usage = laterUsage(usage, readUsage(payload.usage));
        if (finish !== undefined) close();
        break;
      default:
        // Kinds of events that are newer than this file.
        break;
    }
  }

  function onStart(index: number, use: NonNullable<Payload["start"]>["toolUse"]): void {
    if (use !== undefined) blocks.toolCall(index, use.toolUseId, use.name);
  }

  function onDelta(
    index: number,
    { text, toolUse, reasoningContent: reasoning }: NonNullable<Payload["delta"]>,
  ): void {
    if (text) writer.text(text);
    if (toolUse?.input) blocks.toolArguments(index, toolUse.input);
    if (reasoning?.text) blocks.reasoning(index, reasoning.text);
    if (reasoning?.signature) blocks.signature(index, reasoning.signature);
    if (reasoning?.redactedContent) blocks.sealed(reasoning.redactedContent);
  }

  function stop(reason: string | undefined): void {
    try {
      finish = finishReason(reason, blocks.endAll());
    } catch (error) {
      failure = error as PorticoError;
      return;
    }
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
      // The usage comes last; without it the response is still whole.
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
