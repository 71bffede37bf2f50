import {
  assistantMessage,
  type ChatCompletion,
  clientCallId,
  completionFrom,
  errorInResponse,
  errorValueIn,
  parseResponse,
  type Target,
  tokenUsage,
  type ToolCallPart,
  type ToolNames,
  type UpstreamError,
  type Usage,
  type WireRequest,
  completeArguments,
  readCountOrZero,
} from "portico/provider";
import { readProblem } from "./problem.ts";
import type { Sent } from "./request.ts";

/** A whole response, or one event of a stream. */
export interface ChatResponse {
  id?: string;
  model?: string;
  choices?: Choice[];
  usage?: MistralUsage;
  error?: unknown;
  object?: string;
}

interface Choice {
  index?: number;
  message?: Message;
  delta?: Message;
  finish_reason?: string | null;
}

export interface Message {
  content?: string | ContentChunk[] | null;
  tool_calls?: MistralCall[] | null;
}

interface ContentChunk {
  type?: string;
  text?: string;
  thinking?: { text?: string }[];
}

interface MistralCall {
  id?: string;
  index?: number;
  function?: { name?: string; arguments?: unknown };
}

interface MistralUsage {
  prompt_tokens?: number;
  completion_tokens?: number;
  total_tokens?: number;
  prompt_tokens_details?: { cached_tokens?: number } | null;
  completion_tokens_details?: { reasoning_tokens?: number } | null;
}

/** Converts a whole response to OpenAI's form. Throws `upstreamError` for an error of status 200. */
export function decodeResponse(body: Buffer, sent: WireRequest, target: Target): ChatCompletion {
  const response = parseResponse(body) as ChatResponse | undefined;
  if (!Array.isArray(response?.choices) || response.choices.length === 0)
    throw errorInResponse(readProblem(200, body));
  const failure = failureIn(response);
  if (failure !== undefined) throw failure;
  const { names } = sent.state as Sent;
  return completionFrom(target, {
    id: response.id,
    model: response.model,
    choices: response.choices.map(({ index, message, finish_reason }) => {
      const { text, reasoning } = readContent(message?.content);
      const calls = (message?.tool_calls ?? []).map((call) => readCall(call, names));
      const finish = finishReason(finish_reason, calls.length > 0);
      return { index, message: assistantMessage({ text, reasoning, calls }), finish };
    }),
    usage: response.usage && readUsage(response.usage),
  });
}

/** Reads content, which may be a text, or a list with separate parts for thinking. */
export function readContent(content: Message["content"]): { text: string; reasoning: string } {
  if (typeof content === "string") return { text: content, reasoning: "" };
  const text: string[] = [];
  const reasoning: string[] = [];
  for (const chunk of content ?? []) {
    if (chunk.type === "thinking")
      reasoning.push((chunk.thinking ?? []).map(({ text: thought }) => thought ?? "").join(""));
    else if (typeof chunk.text === "string") text.push(chunk.text);
  }
  return { text: text.join(""), reasoning: reasoning.join("") };
}

function readCall(call: MistralCall, names: ToolNames): ToolCallPart {
  const fn = {
    name: names.original(call.function?.name ?? ""),
    arguments: completeArguments(call.function?.arguments),
  };
  return {
    id: clientCallId(call.id === "null" ? undefined : call.id),
    type: "function",
    function: fn,
  };
}

/** Reads arguments, which are a text or an object. */
export function readArguments(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Returns the error in a response or event that has choices as well. */
export function failureIn(response: ChatResponse): UpstreamError | undefined {
  const error = errorValueIn(response);
  return error === undefined
    ? undefined
    : errorInResponse(readProblem(200, Buffer.from(JSON.stringify({ error }))));
}

export function finishReason(reason: string | null | undefined, hasCalls: boolean): string {
  if (reason === "length" || reason === "model_length") return "length";
  return hasCalls ? "tool_calls" : "stop";
}

export function readUsage(usage: MistralUsage): Usage {
  return tokenUsage({
    prompt: readCountOrZero(usage.prompt_tokens),
    completion: readCountOrZero(usage.completion_tokens),
    total: readCountOrZero(usage.total_tokens) || undefined,
    cached: usage.prompt_tokens_details?.cached_tokens,
    reasoning: usage.completion_tokens_details?.reasoning_tokens,
  });
}
