import type { PorticoError } from "portico";
import {
  type ChunkWriter,
  createChunkWriter,
  createDecoder,
  createSseParser,
  createFastPath,
  errorInResponse,
  notJson,
  type StreamDecoder,
  type Target,
  upstreamError,
  type Usage,
  type WireRequest,
  toldIndex,
  toldText,
  laterUsage,
} from "portico/chat";
import type { Candidate, Generated, UsageMetadata } from "./response.ts";
import { finishReason, imagePart, readCall, readGenerated, readUsage } from "./response.ts";
import { readProblem } from "./problem.ts";
import type { Sent } from "./request.ts";

/** Translates one stream of `streamGenerateContent?alt=sse`. */
export function decodeStream(sent: WireRequest, target: Target): StreamDecoder {
  const { includeUsage, origin, names } = sent.state as Sent;
  /** Choice → how many calls it made so far: parallel calls come one per event. */
  const calls = new Map<number, number>();
  const seen = new Set<number>();
  const finished = new Map<number, string>();
  let writer: ChunkWriter | undefined;
  let usage: Usage | undefined;
  let blocked = false;
  let closed = false;
  let failure: PorticoError | undefined;

  function onEvent(data: Buffer): void {
    if (failure !== undefined) return;
    const event = readGenerated(data);
    if (event === undefined) {
      // Some proxies end the stream as OpenAI does.
      if (finishReasonSoFar() === undefined && data.toString("latin1").trim() !== "[DONE]")
        failure = notJson();
      return;
    }
    if (event.error !== undefined) {
      failure = errorInResponse(readProblem(0, data));
      return;
    }
    if (event.usageMetadata !== undefined) {
      usage = laterUsage(usage, readUsage(event.usageMetadata));
      fastPath.takeLast();
    }
    if (event.candidates === undefined && event.promptFeedback === undefined) return;
    writer ??= createChunkWriter({
      id: event.responseId ? `chatcmpl-${event.responseId}` : target.id,
      created: target.created,
      model: toldText(event.modelVersion, target.model),
      includeUsage,
    });
    if (event.promptFeedback?.blockReason !== undefined) blocked = true;
    for (const [i, candidate] of (event.candidates ?? []).entries())
      onCandidate(candidate, toldIndex(candidate.index, i), writer);
    if (isPlainText(event)) fastPath.learn();
  }

  function onCandidate(candidate: Candidate, choice: number, out: ChunkWriter): void {
    seen.add(choice);
    for (const part of candidate.content?.parts ?? []) {
      if (part.functionCall !== undefined) {
        const index = calls.get(choice) ?? 0;
        calls.set(choice, index + 1);
        out.delta({ tool_calls: [{ index, ...readCall(part, { origin, names }) }] }, choice);
      } else if (part.inlineData !== undefined) {
        out.delta({ images: [imagePart(part.inlineData)] }, choice);
      } else if (part.text) {
        if (part.thought === true) out.reasoning(part.text, choice);
        else out.text(part.text, choice);
      }
    }
    if (candidate.finishReason === undefined) return;
    try {
      // Not written yet: older models give one with every event.
      finished.set(choice, finishReason(candidate, calls.has(choice)));
    } catch (error) {
      failure = error as PorticoError;
    }
  }

  /** The format has no last event: a clean end of the body is the end of the response. */
  function close(): void {
    if (writer === undefined)
      throw upstreamError({ kind: "upstream", message: "The upstream's response is empty." }, 0);
    if (blocked && finished.size === 0) finished.set(0, "content_filter");
    if (blocked || seen.size === 0) seen.add(0);
    for (const choice of seen) {
      const reason = finished.get(choice) ?? "stop";
      writer.finish(reason === "stop" && calls.has(choice) ? "tool_calls" : reason, choice);
    }
    const total = usageSoFar();
    if (total !== undefined) writer.usage(total);
    writer.done();
    closed = true;
  }

  /** Known once every candidate that has begun is finished: what is cut off behind that is no loss. */
  function finishReasonSoFar(): string | undefined {
    return finished.size < seen.size ? undefined : finished.get(0);
  }

  /** Events that were not parsed repeat the usage too, each time newer. Parsed only when somebody asks. */
  function usageSoFar(): Usage | undefined {
    const unread = fastPath.takeLast();
    const metadata = unread === undefined ? undefined : readGenerated(unread)?.usageMetadata;
    if (metadata !== undefined) usage = laterUsage(usage, readUsage(metadata));
    return usage;
  }

  const fastPath = createFastPath({
    key: "text",
    events: "blocks",
    parser: createSseParser(onEvent),
    onText(bytes, start, end) {
      if (failure === undefined) writer?.textSlice(bytes, start, end);
    },
  });
  return createDecoder({
    push: fastPath.push,
    flush: fastPath.end,
    close,
    take: () => writer?.take(),
    usage: usageSoFar,
    finishReason: finishReasonSoFar,
    failure: () => failure,
    done: () => closed,
  });
}

/** One candidate with one text and nothing that ends or explains the response. */
function isPlainText(event: Generated): boolean {
  const candidate = event.candidates?.[0];
  const parts = candidate?.content?.parts;
  if (event.candidates?.length !== 1 || parts?.length !== 1 || event.promptFeedback !== undefined)
    return false;
  const part = parts[0];
  return (
    part !== undefined &&
    typeof part.text === "string" &&
    part.thought === undefined &&
    part.thoughtSignature === undefined &&
    candidate?.finishReason === undefined
  );
}
