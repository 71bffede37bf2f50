import {
  type ChatCompletion,
  collectBlocks,
  completionFrom,
  errorInResponse,
  parseResponse,
  type Target,
  tokenUsage,
  upstreamError,
  type Usage,
  type WireRequest,
  readCountOrZero,
} from "portico/provider";
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
  /** A text with its sources. */
  citationsContent?: { content?: { text?: string }[] };
  reasoningContent?: {
    reasoningText?: { text?: string; signature?: string };
    redactedContent?: string;
  };
}

export interface TokenUsage {
  inputTokens?: number;
  outputTokens?: number;
  cacheReadInputTokens?: number;
  cacheWriteInputTokens?: number;
}

/** Converts a whole response to OpenAI's form. Throws `upstreamError` for an error of status 200. */
export function decodeResponse(body: Buffer, sent: WireRequest, target: Target): ChatCompletion {
  const response = parseResponse(body) as Converse | undefined;
  const content = response?.output?.message?.content;
  if (response === undefined || !Array.isArray(content))
    throw errorInResponse(readException(undefined, body));
  const blocks = collectBlocks(sent.state as Sent);
  for (const block of content) addBlock(blocks, block);
  const finish = finishReason(response.stopReason, blocks.called());
  return completionFrom(target, {
    choices: [{ message: blocks.message(), finish }],
    usage: response.usage && readUsage(response.usage),
  });
}

function addBlock(
  blocks: ReturnType<typeof collectBlocks>,
  { text, citationsContent, reasoningContent, toolUse }: ContentBlock,
): void {
  if (text !== undefined) blocks.text(text);
  for (const cited of citationsContent?.content ?? []) blocks.text(cited.text ?? "");
  const { reasoningText, redactedContent } = reasoningContent ?? {};
  if (reasoningText !== undefined) blocks.reasoning(reasoningText.text, reasoningText.signature);
  if (redactedContent) blocks.sealed(redactedContent);
  if (toolUse !== undefined) blocks.call(toolUse.toolUseId, toolUse.name, toolUse.input);
}

/** Converts a stop reason. Throws for a response that is unusable because the model broke its own format. */
export function finishReason(reason: string | undefined, hasCalls: boolean): string {
  switch (reason) {
    case "max_tokens":
    case "model_context_window_exceeded":
      return "length";
    case "guardrail_intervened":
    case "content_filtered":
      return "content_filter";
    case "malformed_model_output":
    case "malformed_tool_use":
      throw upstreamError(
        { kind: "upstream", message: `The model's response ended with ${reason}.`, code: reason },
        200,
      );
    default:
      // Some models send `end_turn` after a call, too.
      return hasCalls ? "tool_calls" : "stop";
  }
}

/** OpenAI's prompt tokens include those read from and written to the cache; Converse's do not. */
export function readUsage(usage: TokenUsage): Usage {
  const read = readCountOrZero(usage.cacheReadInputTokens);
  const written = readCountOrZero(usage.cacheWriteInputTokens);
  const prompt = readCountOrZero(usage.inputTokens) + read + written;
  return tokenUsage({
    prompt,
    completion: readCountOrZero(usage.outputTokens),
    cached: read,
    written,
  });
}
