import {
  clientCallId,
  completeArguments,
  carrySignature,
  createPartDecoder,
  createSseParser,
  errorInResponse,
  notJson,
  type PartDecoder,
  PartWriter,
  type Target,
  readIndex,
  readText,
  upstreamError,
  type WireRequest,
} from "portico/provider";
import type { Candidate, Generated, GeneratedPart } from "./response.ts";
import { finishReason, imagePart, readGenerated, readUsage } from "./response.ts";
import { readProblem } from "./problem.ts";
import type { Sent } from "./request.ts";

/** Decodes one stream of `streamGenerateContent?alt=sse`. */
export function decodeStream(sent: WireRequest, target: Target): PartDecoder {
  const reader = new EventReader(sent.state as Sent, target);
  return createPartDecoder({
    out: reader.out,
    reader: createSseParser((data) => reader.event(data)),
    close: () => reader.close(),
    done: () => reader.isClosed,
    finished: () => reader.isFinished,
  });
}

class EventReader {
  readonly out: PartWriter;
  isClosed = false;
  readonly #target: Target;
  readonly #origin: string;
  /** The candidates that have begun, and the finish reasons of those that have ended. */
  readonly #startedChoices = new Set<number>();
  readonly #finishReasons = new Map<number, string>();
  #isBlocked = false;

  constructor({ origin, names }: Sent, target: Target) {
    const { id, created, model } = target;
    this.#target = target;
    this.#origin = origin;
    this.out = new PartWriter(
      { id, created, model },
      { idOf: clientCallId, nameOf: names.original },
    );
  }

  /** True once all candidates have ended. An event that is cut off later loses nothing. */
  get isFinished(): boolean {
    return this.#finishReasons.size > 0 && this.#finishReasons.size >= this.#startedChoices.size;
  }

  event(data: Buffer): void {
    const event = readGenerated(data);
    if (event === undefined) {
      // Some proxies end the stream with OpenAI's `[DONE]`.
      if (this.isFinished || data.toString("latin1").trim() === "[DONE]") return;
      throw notJson();
    }
    if (event.error !== undefined) throw errorInResponse(readProblem(0, data));
    this.#start(event);
    if (event.usageMetadata !== undefined) this.out.tell(readUsage(event.usageMetadata));
    if (event.promptFeedback?.blockReason !== undefined) this.#isBlocked = true;
    for (const [i, candidate] of (event.candidates ?? []).entries())
      this.#readCandidate(candidate, readIndex(candidate.index, i));
  }

  /** Ends the response with the body, because the format has no last event. */
  close(): void {
    if (!this.out.started)
      throw upstreamError({ kind: "upstream", message: "The upstream's response is empty." }, 0);
    if (this.#isBlocked && this.#finishReasons.size === 0)
      this.#finishReasons.set(0, "content_filter");
    if (this.#isBlocked || this.#startedChoices.size === 0) this.#startedChoices.add(0);
    for (const choice of this.#startedChoices)
      this.out.finish(this.#finishReasons.get(choice) ?? "stop", choice);
    this.isClosed = true;
  }

  #start({ candidates, promptFeedback, responseId, modelVersion }: Generated): void {
    if (candidates === undefined && promptFeedback === undefined) return;
    const { id, model } = this.#target;
    this.out.start({
      id: responseId ? `chatcmpl-${responseId}` : id,
      model: readText(modelVersion, model),
    });
  }

  #readCandidate(candidate: Candidate, choice: number): void {
    this.#startedChoices.add(choice);
    for (const part of candidate.content?.parts ?? []) this.#readPart(part, choice);
    if (candidate.finishReason === undefined) return;
    // Older models send a reason with every event, so only the last one counts.
    this.#finishReasons.set(choice, finishReason(candidate, this.out.calls(choice).any));
  }

  #readPart(part: GeneratedPart, choice: number): void {
    const { functionCall: call, inlineData, text, thoughtSignature } = part;
    if (call !== undefined) {
      const extra = thoughtSignature ? carrySignature(this.#origin, thoughtSignature) : undefined;
      const args = completeArguments(call.args);
      this.out.calls(choice).whole(call.id, call.name ?? "", args, { extra });
    } else if (inlineData !== undefined) {
      this.out.raw("delta", { images: [imagePart(inlineData)] }, choice);
    } else if (text) {
      if (part.thought === true) this.out.reasoning(text, choice);
      else this.out.text(text, choice);
    }
  }
}
