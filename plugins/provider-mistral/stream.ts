import {
  clientCallId,
  createPartDecoder,
  createSseParser,
  errorInResponse,
  type PartDecoder,
  parseResponse,
  PartWriter,
  type Target,
  toldIndex,
  toldText,
  upstreamError,
  type WireRequest,
} from "portico/provider";
import type { ChatResponse, Message } from "./response.ts";
import { failureIn, finishReason, readArguments, readContent, readUsage } from "./response.ts";
import { readProblem } from "./problem.ts";
import type { Sent } from "./request.ts";

/** Reads one stream of Mistral's chunks. */
export function decodeStream(sent: WireRequest, target: Target): PartDecoder {
  const { names } = sent.state as Sent;
  const { id, created, model } = target;
  const out = new PartWriter(
    { id, created, model },
    { idOf: clientCallId, nameOf: names.original },
  );
  let done = false;

  function onEvent(data: Buffer): void {
    if (done) return;
    if (data.length < 16 && data.toString("latin1").trim() === "[DONE]") {
      close();
      return;
    }
    const event = parseResponse(data) as ChatResponse | undefined;
    if (!Array.isArray(event?.choices)) {
      if (event === undefined || saysError(event)) throw errorInResponse(readProblem(0, data));
      return;
    }
    const failure = failureIn(event);
    if (failure !== undefined) throw failure;
    out.start({
      id: event.id ? `chatcmpl-${event.id}` : id,
      model: toldText(event.model, model),
    });
    if (event.usage) out.tell(readUsage(event.usage));
    for (const [i, choice] of event.choices.entries()) {
      const index = toldIndex(choice.index, i);
      onDelta(choice.delta ?? {}, index);
      if (choice.finish_reason) onFinish(choice.finish_reason, index);
    }
  }

  function onDelta(delta: Message, choice: number): void {
    out.begin(choice);
    const { text, reasoning } = readContent(delta.content);
    if (reasoning !== "") out.reasoning(reasoning, choice);
    if (text !== "") out.text(text, choice);
    for (const call of delta.tool_calls ?? []) {
      out.calls(choice).add({
        index: call.index,
        id: call.id === "null" ? undefined : call.id,
        name: call.function?.name,
        args: readArguments(call.function?.arguments),
      });
    }
  }

  function onFinish(reason: string, choice: number): void {
    out.finish(finishReason(reason, false), choice);
  }

  /** A choice that was never finished ends with what fits; there is no response where nothing came. */
  function close(): void {
    if (!out.started)
      throw upstreamError({ kind: "upstream", message: "The upstream's response is empty." }, 0);
    for (const choice of [...out.choices]) out.finish("stop", choice);
    done = true;
  }

  return createPartDecoder({
    out,
    reader: createSseParser(onEvent),
    close,
    done: () => done,
  });
}

function saysError(event: ChatResponse): boolean {
  return event.error !== undefined || event.object === "error" || "message" in event;
}
