import {
  assistantMessage,
  type BlockOptions,
  carrySignature,
  type ChatCompletion,
  type ChatMessage,
  clientCallId,
  completionFrom,
  errorInResponse,
  filled,
  parseResponse,
  type Target,
  tokenUsage,
  type ToolCallPart,
  upstreamError,
  type Usage,
  type WireRequest,
  completeArguments,
  readCountOrZero,
  readIndex,
} from "portico/provider";
import { readProblem } from "./problem.ts";
import type { Sent } from "./request.ts";

/** One response, or one event of a stream. */
export interface Generated {
  candidates?: Candidate[];
  promptFeedback?: { blockReason?: string };
  usageMetadata?: UsageMetadata;
  modelVersion?: string;
  responseId?: string;
  error?: unknown;
}

export interface Candidate {
  index?: number;
  content?: { parts?: GeneratedPart[] };
  finishReason?: string;
  finishMessage?: string;
}

export interface GeneratedPart {
  text?: string;
  thought?: boolean;
  thoughtSignature?: string;
  functionCall?: { id?: string; name?: string; args?: unknown };
  inlineData?: { mimeType?: string; data?: string };
}

export interface UsageMetadata {
  promptTokenCount?: number;
  toolUsePromptTokenCount?: number;
  cachedContentTokenCount?: number;
  candidatesTokenCount?: number;
  thoughtsTokenCount?: number;
  totalTokenCount?: number;
}

/** Reads a response. An error may be in a list, and so is a stream if a proxy has removed `alt=sse`. */
export function readGenerated(body: Buffer): Generated | undefined {
  const value: unknown = parseResponse(body);
  return Array.isArray(value)
    ? mergeEvents(value as (Generated | null)[])
    : (value as Generated | undefined);
}

/** Merges the events of a stream into one response. */
function mergeEvents(events: (Generated | null)[]): Generated {
  const merged: Generated = {};
  const byIndex = new Map<number, Candidate>();
  for (const event of events) {
    const { candidates = [], ...members } = event ?? {};
    Object.assign(merged, members);
    for (const [i, { content, ...candidateMembers }] of candidates.entries()) {
      const index = readIndex(candidateMembers.index, i);
      const candidate = byIndex.get(index) ?? { index, content: { parts: [] } };
      byIndex.set(index, Object.assign(candidate, candidateMembers));
      for (const part of content?.parts ?? []) candidate.content?.parts?.push(part);
    }
  }
  return byIndex.size === 0 ? merged : { ...merged, candidates: [...byIndex.values()] };
}

/** Converts a whole response to OpenAI's form. Throws `upstreamError` for an error of status 200. */
export function decodeResponse(body: Buffer, sent: WireRequest, target: Target): ChatCompletion {
  const response = readGenerated(body);
  if (response === undefined || response.error !== undefined) {
    throw errorInResponse(
      readProblem(200, response === undefined ? body : Buffer.from(JSON.stringify(response))),
    );
  }
  const options = sent.state as Sent;
  const choices = (response.candidates ?? []).map((candidate) => readCandidate(candidate, options));
  if (choices.length === 0) {
    if (response.promptFeedback === undefined) {
      throw upstreamError(
        { kind: "upstream", message: "The upstream's response holds no candidates." },
        200,
      );
    }
    choices.push({
      message: { role: "assistant", content: "", refusal: null },
      finish: "content_filter",
    });
  }
  const { responseId: id, modelVersion: model, usageMetadata } = response;
  return completionFrom(target, {
    id,
    model,
    choices,
    usage: usageMetadata && readUsage(usageMetadata),
  });
}

interface Choice {
  index?: number | undefined;
  message: ChatMessage;
  finish: string;
}

function readCandidate(candidate: Candidate, options: BlockOptions): Choice {
  const text: string[] = [];
  const reasoning: string[] = [];
  const calls: ToolCallPart[] = [];
  const images: unknown[] = [];
  for (const part of candidate.content?.parts ?? []) {
    if (part.functionCall !== undefined) calls.push(readCall(part, options));
    else if (part.inlineData !== undefined) images.push(imagePart(part.inlineData));
    else if (part.text) (part.thought === true ? reasoning : text).push(part.text);
  }
  const message = assistantMessage({ text: text.join(""), reasoning: reasoning.join(""), calls });
  const finish = finishReason(candidate, calls.length > 0);
  return { index: candidate.index, message: { ...message, images: filled(images) }, finish };
}

/** Reads a function call, which has complete arguments, and its signature. */
function readCall(part: GeneratedPart, { origin, names }: BlockOptions): ToolCallPart {
  const call = part.functionCall ?? {};
  return {
    id: clientCallId(call.id),
    type: "function",
    function: { name: names.original(call.name ?? ""), arguments: completeArguments(call.args) },
    extra_content: part.thoughtSignature
      ? carrySignature(origin, part.thoughtSignature)
      : undefined,
  };
}

/** Converts an image from the model to the form of OpenRouter. */
export function imagePart(image: { mimeType?: string; data?: string }): Record<string, unknown> {
  return { type: "image_url", image_url: { url: `data:${image.mimeType};base64,${image.data}` } };
}

/** Converts a finish reason. Throws for a response that is unusable because the model broke its own format. */
export function finishReason(candidate: Candidate, hasCalls: boolean): string {
  const reason = candidate.finishReason;
  switch (reason) {
    case "MAX_TOKENS":
    case "CONTINUATION":
      return "length";
    case "SAFETY":
    case "RECITATION":
    case "LANGUAGE":
    case "BLOCKLIST":
    case "PROHIBITED_CONTENT":
    case "SPII":
    case "MODEL_ARMOR":
      return "content_filter";
    case "UNEXPECTED_TOOL_CALL":
    case "TOO_MANY_TOOL_CALLS":
    case "MISSING_THOUGHT_SIGNATURE":
      throw malformedResponse(reason, candidate.finishMessage);
    default:
      if (reason?.startsWith("MALFORMED_"))
        throw malformedResponse(reason, candidate.finishMessage);
      if (reason?.startsWith("IMAGE_") && reason !== "IMAGE_OTHER") return "content_filter";
      return hasCalls ? "tool_calls" : "stop";
  }
}

function malformedResponse(reason: string, detail: string | undefined): Error {
  const message = `The model's response ended with ${reason}${detail ? `: ${detail}` : "."}`;
  return upstreamError({ kind: "upstream", message, code: reason }, 200);
}

/** Converts usage. OpenAI counts thinking as completion, Gemini counts it separately. */
export function readUsage(usage: UsageMetadata): Usage {
  const prompt =
    readCountOrZero(usage.promptTokenCount) + readCountOrZero(usage.toolUsePromptTokenCount);
  const reasoning = readCountOrZero(usage.thoughtsTokenCount);
  const completion = readCountOrZero(usage.candidatesTokenCount) + reasoning;
  const cached = readCountOrZero(usage.cachedContentTokenCount);
  return tokenUsage({
    prompt,
    completion,
    total: readCountOrZero(usage.totalTokenCount) || undefined,
    cached,
    reasoning,
  });
}
