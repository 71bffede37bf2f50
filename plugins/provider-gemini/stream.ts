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
  toldIndex,
  toldText,
  upstreamError,
  type WireRequest,
} from "portico/provider";
import type { Candidate, GeneratedPart } from "./response.ts";
import { finishReason, imagePart, readGenerated, readUsage } from "./response.ts";
import { readProblem } from "./problem.ts";
import type { Sent } from "./request.ts";

/** Reads one stream of `streamGenerateContent?alt=sse`. */
export function decodeStream(sent: WireRequest, target: Target): PartDecoder {
  const { origin, names } = sent.state as Sent;
  const { id, created, model } = target;
  const out = new PartWriter(
    { id, created, model },
    { idOf: clientCallId, nameOf: names.original },
  );
  const seen = new Set<number>();
  const finished = new Map<number, string>();
  let blocked = false;
  let closed = false;

  function onEvent(data: Buffer): void {
    const event = readGenerated(data);
    if (event === undefined) {
      // Some proxies end the stream as OpenAI does.
      if (isFinished() || data.toString("latin1").trim() === "[DONE]") return;
      throw notJson();
    }
    if (event.error !== undefined) throw errorInResponse(readProblem(0, data));
    const begins = event.candidates !== undefined || event.promptFeedback !== undefined;
    if (begins)
      out.start({
        id: event.responseId ? `chatcmpl-${event.responseId}` : id,
        model: toldText(event.modelVersion, model),
      });
    if (event.usageMetadata !== undefined) out.tell(readUsage(event.usageMetadata));
    if (event.promptFeedback?.blockReason !== undefined) blocked = true;
    for (const [i, candidate] of (event.candidates ?? []).entries())
      onCandidate(candidate, toldIndex(candidate.index, i));
  }

  function onCandidate(candidate: Candidate, choice: number): void {
    seen.add(choice);
    for (const part of candidate.content?.parts ?? []) onPart(part, choice);
    if (candidate.finishReason === undefined) return;
    // Not told yet: older models give one with every event.
    finished.set(choice, finishReason(candidate, out.calls(choice).any));
  }

  function onPart(part: GeneratedPart, choice: number): void {
    const { functionCall: call, inlineData, text, thoughtSignature } = part;
    if (call !== undefined) {
      const extra = thoughtSignature ? carrySignature(origin, thoughtSignature) : undefined;
      const args = completeArguments(call.args);
      out.calls(choice).whole(call.id, call.name ?? "", args, { extra });
    } else if (inlineData !== undefined) {
      out.raw("delta", { images: [imagePart(inlineData)] }, choice);
    } else if (text) {
      if (part.thought === true) out.reasoning(text, choice);
      else out.text(text, choice);
    }
  }

  /** The format has no last event: a clean end of the body is the end of the response. */
  function close(): void {
    if (!out.started)
      throw upstreamError({ kind: "upstream", message: "The upstream's response is empty." }, 0);
    if (blocked && finished.size === 0) finished.set(0, "content_filter");
    if (blocked || seen.size === 0) seen.add(0);
    for (const choice of seen) out.finish(finished.get(choice) ?? "stop", choice);
    closed = true;
  }

  /** What is cut off behind the end of all candidates is no loss. */
  function isFinished(): boolean {
    return finished.size > 0 && finished.size >= seen.size;
  }

  return createPartDecoder({
    out,
    reader: createSseParser(onEvent),
    close,
    done: () => closed,
    finished: isFinished,
  });
}
