import {
  clientCallId,
  createPartDecoder,
  createSseParser,
  errorInResponse,
  type PartDecoder,
  parseResponse,
  PartWriter,
  type Target,
  readIndex,
  readText,
  upstreamError,
  type WireRequest,
} from "portico/provider";
import type { ChatResponse, Message } from "./response.ts";
import { failureIn, finishReason, readArguments, readContent, readUsage } from "./response.ts";
import { readProblem } from "./problem.ts";
import type { Sent } from "./request.ts";

/** Decodes one stream of Mistral's chunks. */
export function decodeStream(sent: WireRequest, target: Target): PartDecoder {
  const reader = new ChunkReader(sent.state as Sent, target);
  return createPartDecoder({
    out: reader.out,
    reader: createSseParser((data) => reader.event(data)),
    close: () => reader.close(),
    done: () => reader.isClosed,
  });
}

class ChunkReader {
  readonly out: PartWriter;
  isClosed = false;
  readonly #target: Target;

  constructor({ names }: Sent, target: Target) {
    const { id, created, model } = target;
    this.#target = target;
    this.out = new PartWriter(
      { id, created, model },
      { idOf: clientCallId, nameOf: names.original },
    );
  }

  event(data: Buffer): void {
    if (this.isClosed) return;
    if (data.length < 16 && data.toString("latin1").trim() === "[DONE]") {
      this.close();
      return;
    }
    const event = parseResponse(data) as ChatResponse | undefined;
    if (!Array.isArray(event?.choices)) {
      if (event === undefined || isErrorEvent(event)) throw errorInResponse(readProblem(0, data));
      return;
    }
    const failure = failureIn(event);
    if (failure !== undefined) throw failure;
    this.#readChunk(event, event.choices);
  }

  /** Ends the stream, and each unfinished choice with `stop`. Throws if nothing has arrived. */
  close(): void {
    if (!this.out.started)
      throw upstreamError({ kind: "upstream", message: "The upstream's response is empty." }, 0);
    for (const choice of [...this.out.choices]) this.out.finish("stop", choice);
    this.isClosed = true;
  }

  #readChunk(
    { id, model, usage }: ChatResponse,
    choices: NonNullable<ChatResponse["choices"]>,
  ): void {
    this.out.start({
      id: id ? `chatcmpl-${id}` : this.#target.id,
      model: readText(model, this.#target.model),
    });
    if (usage) this.out.tell(readUsage(usage));
    for (const [i, { index: upstreamIndex, delta, finish_reason: reason }] of choices.entries()) {
      const index = readIndex(upstreamIndex, i);
      this.#readDelta(delta ?? {}, index);
      if (reason) this.out.finish(finishReason(reason, false), index);
    }
  }

  #readDelta(delta: Message, choice: number): void {
    this.out.begin(choice);
    const { text, reasoning } = readContent(delta.content);
    if (reasoning !== "") this.out.reasoning(reasoning, choice);
    if (text !== "") this.out.text(text, choice);
    for (const call of delta.tool_calls ?? []) {
      this.out.calls(choice).add({
        index: call.index,
        id: call.id === "null" ? undefined : call.id,
        name: call.function?.name,
        args: readArguments(call.function?.arguments),
      });
    }
  }
}

function isErrorEvent(event: ChatResponse): boolean {
  return event.error !== undefined || event.object === "error" || "message" in event;
}
