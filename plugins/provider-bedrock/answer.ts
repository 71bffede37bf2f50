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
  upstreamError,
  type Usage,
  type WireRequest,
} from "portico/chat";
import { readException } from "./problem.ts";
import type { Sent } from "./request.ts";

interface Converse {
  output?: { message?: { content?: ContentBlock[] } };
  stopReason?: string;
  usage?: TokenUsage;
}

interface ContentBlock {
  text?: string;
  toolUse?: { toolUseId?: string; name?: string; input?: unknown };
  reasoningContent?: { reasoningText?: { text?: string; signature?: string }; redactedContent?: string };
}

export interface TokenUsage {
  inputTokens?: number;
  outputTokens?: number;
  cacheReadInputTokens?: number;
  cacheWriteInputTokens?: number;
}

/** A whole answer in OpenAI's form. Throws `upstreamError` for an error dressed as an answer. */
export function decodeAnswer(body: Buffer, sent: WireRequest, target: Target): ChatCompletion {
  const answer = parseObject(body) as Converse | undefined;
  const blocks = answer?.output?.message?.content;
  if (answer === undefined || !Array.isArray(blocks)) {
    throw errorInResponse(readException(undefined, body));
  }
  const { origin } = sent.state as Sent;
  const text: string[] = [];
  const reasoning: string[] = [];
  const thinking: ThinkingBlock[] = [];
  const calls: ToolCallPart[] = [];
  for (const block of blocks) {
    if (block.text !== undefined) text.push(block.text);
    const { reasoningText, redactedContent } = block.reasoningContent ?? {};
    if (reasoningText?.text) reasoning.push(reasoningText.text);
    if (reasoningText?.signature) thinking.push({ text: reasoningText.text ?? "", signature: reasoningText.signature });
    if (redactedContent) thinking.push({ sealed: redactedContent });
    if (block.toolUse !== undefined) {
      const { toolUseId, name = "", input } = block.toolUse;
      calls.push({
        id: clientCallId(toolUseId),
        type: "function",
        function: { name, arguments: JSON.stringify(input ?? {}) },
      });
    }
  }
  const message: ChatMessage = {
    ...assistantMessage({ text: text.join(""), reasoning: reasoning.join("\n"), calls }),
    ...(calls.length > 0 && thinking.length > 0 && { extra_content: carryThinking(origin, thinking) }),
  };
  return {
    id: target.id,
    object: "chat.completion",
    created: target.created,
    model: target.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason(answer.stopReason, calls.length > 0) }],
    ...(answer.usage && { usage: readUsage(answer.usage) }),
  };
}

/** Throws where the model broke its own format: such an answer is no answer. */
export function finishReason(reason: string | undefined, called: boolean): string {
  switch (reason) {
    case "max_tokens":
    case "model_context_window_exceeded":
      return "length";
    case "guardrail_intervened":
    case "content_filtered":
      return "content_filter";
    case "malformed_model_output":
    case "malformed_tool_use":
      throw upstreamError({ kind: "upstream", message: `The model's answer ended with ${reason}.`, code: reason }, 200);
    case "end_turn":
    case "stop_sequence":
      return "stop";
    default:
      return called ? "tool_calls" : "stop";
  }
}

/** OpenAI's prompt tokens include those read from and written to the cache; Converse's do not. */
export function readUsage(usage: TokenUsage): Usage {
  const read = usage.cacheReadInputTokens ?? 0;
  const written = usage.cacheWriteInputTokens ?? 0;
  const prompt = (usage.inputTokens ?? 0) + read + written;
  return tokenUsage({ prompt, completion: usage.outputTokens ?? 0, cached: read, written });
}
