import {
  clientCallId,
  ContentBlocks,
  createPartDecoder,
  cutShort,
  errorInResponse,
  notJson,
  type PartDecoder,
  parseResponse,
  PartWriter,
  type Target,
  type WireRequest,
} from "portico/provider";
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

/** Decodes one stream of Converse's binary events. */
export function decodeStream(sent: WireRequest, target: Target): PartDecoder {
  const { origin, names } = sent.state as Sent;
  const { id, created, model } = target;
  const out = new PartWriter(
    { id, created, model },
    { idOf: clientCallId, nameOf: names.original },
  );
  const blocks = new ContentBlocks(out, origin);
  let isDone = false;

  function onFrame({ headers, payload }: Frame): void {
    if (isDone) return;
    const kind = headers[":message-type"];
    if (kind === "exception" || kind === "error") {
      const type = headers[":exception-type"] ?? headers[":error-code"];
      const problem = readException(type, payload);
      throw errorInResponse({ ...problem, message: headers[":error-message"] ?? problem.message });
    }
    const event = parseResponse(payload) as Payload | undefined;
    if (event === undefined) throw notJson();
    onEvent(headers[":event-type"] ?? "", event);
  }

  function onEvent(type: string, payload: Payload): void {
    const index = payload.contentBlockIndex ?? 0;
    switch (type) {
      case "messageStart":
        out.start();
        out.begin(0);
        return;
      case "contentBlockStart": {
        const use = payload.start?.toolUse;
        if (use !== undefined) blocks.toolCall(index, use.toolUseId, use.name);
        return;
      }
      case "contentBlockDelta":
        onDelta(index, payload.delta ?? {});
        return;
      case "contentBlockStop":
        blocks.end(index);
        return;
      case "messageStop":
        blocks.endAll();
        out.finish(finishReason(payload.stopReason, blocks.called));
        return;
      case "metadata":
        if (payload.usage !== undefined) out.tell(readUsage(payload.usage));
        isDone = out.finished;
        return;
      default:
        // Ignores event types that are newer than this file.
        return;
    }
  }

  function onDelta(
    index: number,
    { text, toolUse, reasoningContent: reasoning }: NonNullable<Payload["delta"]>,
  ): void {
    if (text) out.text(text);
    if (toolUse?.input) blocks.toolArguments(index, toolUse.input);
    if (reasoning?.text) blocks.reasoning(index, reasoning.text);
    if (reasoning?.signature) blocks.signature(index, reasoning.signature);
    if (reasoning?.redactedContent) blocks.sealed(reasoning.redactedContent);
  }

  return createPartDecoder({
    out,
    reader: readFrames(onFrame),
    close() {
      // The usage arrives last. Without it the response is still complete.
      if (!out.finished) throw cutShort();
      isDone = true;
    },
    done: () => isDone,
  });
}
