import {
  assistantMessage,
  carryThinking,
  type ChatCompletion,
  type ChatMessage,
  clientCallId,
  errorInResponse,
  parseObject,
  type Target,
  type ThinkingBlock,
  tokenUsage,
  type ToolCallPart,
  type Usage,
  type WireRequest,
} from "portico/chat";
import { readProblem } from "./problem.ts";
import type { Sent } from "./request.ts";

/** A `Message`, or whatever else came with status 200. */
interface Message {
  type?: string;
  id?: string;
  model?: string;
  content?: ContentBlock[];
  stop_reason?: string | null;
  usage?: MessageUsage;
}

export interface ContentBlock {
  type: string;
  text?: string;
  id?: string;
  name?: string;
  input?: unknown;
  thinking?: string;
  signature?: string;
  data?: string;
}

export interface MessageUsage {
  input_tokens?: number | null;
  cache_creation_input_tokens?: number | null;
  cache_read_input_tokens?: number | null;
  output_tokens?: number | null;
  output_tokens_details?: { thinking_tokens?: number | null } | null;
}

/** A whole answer in OpenAI's form. Throws `upstreamError` for an error dressed as an answer. */
export function decodeMessage(body: Buffer, sent: WireRequest, target: Target): ChatCompletion {
  const message = parseObject(body) as Message | undefined;
  if (message === undefined || message.type === "error" || !Array.isArray(message.content)) {
    throw errorInResponse(readProblem(200, body));
  }
  const { origin } = sent.state as Sent;
  const text: string[] = [];
  const reasoning: string[] = [];
  const thinking: ThinkingBlock[] = [];
  const calls: ToolCallPart[] = [];
  for (const block of message.content) {
    if (block.type === "text") text.push(block.text ?? "");
    else if (block.type === "thinking") {
      if (block.thinking) reasoning.push(block.thinking);
      if (block.signature) thinking.push({ text: block.thinking ?? "", signature: block.signature });
    } else if (block.type === "redacted_thinking") thinking.push({ sealed: block.data ?? "" });
    else if (block.type === "tool_use") {
      const fn = { name: block.name ?? "", arguments: JSON.stringify(block.input ?? {}) };
      calls.push({ id: clientCallId(block.id), type: "function", function: fn });
    }
  }
  const answer: ChatMessage = {
    ...assistantMessage({ text: text.join(""), reasoning: reasoning.join("\n"), calls }),
    // Only a loop of calls needs the signatures again.
    ...(calls.length > 0 && thinking.length > 0 && { extra_content: carryThinking(origin, thinking) }),
  };
  const reason = finishReason(message.stop_reason, calls.length > 0);
  return {
    id: message.id ? `chatcmpl-${message.id}` : target.id,
    object: "chat.completion",
    created: target.created,
    model: message.model ?? target.model,
    choices: [{ index: 0, message: answer, logprobs: null, finish_reason: reason }],
    ...(message.usage && { usage: readUsage(message.usage) }),
  };
}

export function finishReason(reason: string | null | undefined, called: boolean): string {
  switch (reason) {
    case "max_tokens":
    case "model_context_window_exceeded":
      return "length";
    case "tool_use":
      return called ? "tool_calls" : "stop";
    case "refusal":
      return "content_filter";
    case "end_turn":
    case "stop_sequence":
    case "pause_turn":
      return "stop";
    default:
      return called ? "tool_calls" : "stop";
  }
}

/** OpenAI's prompt tokens include those read from and written to the cache; Anthropic's do not. */
export function readUsage(usage: MessageUsage): Usage {
  const read = usage.cache_read_input_tokens ?? 0;
  const written = usage.cache_creation_input_tokens ?? 0;
  const prompt = (usage.input_tokens ?? 0) + read + written;
  const reasoning = usage.output_tokens_details?.thinking_tokens;
  return tokenUsage({ prompt, completion: usage.output_tokens ?? 0, cached: read, written, reasoning });
}
