import {
  type ChatCompletion,
  clientCallId,
  collectBlocks,
  completionFrom,
  errorInResponse,
  mintCallId,
  parseResponse,
  type Target,
  tokenUsage,
  type Usage,
  type WireRequest,
  readCountOrZero,
} from "portico/provider";
import { readProblem } from "./problem.ts";
import type { Sent } from "./request.ts";

/** A `Message`, or any other body with status 200. */
interface Message {
  type?: string;
  id?: string;
  model?: string;
  content?: ContentBlock[];
  stop_reason?: string | null;
  usage?: MessageUsage;
  error?: unknown;
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

/** Converts a whole response to OpenAI's form. Throws `upstreamError` for an error of status 200. */
export function decodeMessage(body: Buffer, sent: WireRequest, target: Target): ChatCompletion {
  return readMessage(body, sent, target, clientCallId);
}

/** Converts a response for clients that speak the Messages API. Ids of calls remain unchanged. */
export function decodeNativeMessage(
  body: Buffer,
  sent: WireRequest,
  target: Target,
): ChatCompletion {
  return readMessage(body, sent, target, (id) => id ?? mintCallId());
}

function readMessage(
  body: Buffer,
  sent: WireRequest,
  target: Target,
  idOf: (id: string | undefined) => string,
): ChatCompletion {
  const message = parseResponse(body) as Message | undefined;
  if (
    message === undefined ||
    message.type === "error" ||
    message.error ||
    !Array.isArray(message.content)
  ) {
    throw errorInResponse(readProblem(200, body));
  }
  const blocks = collectBlocks(sent.state as Sent, idOf);
  for (const block of message.content) {
    if (block.type === "text") blocks.text(block.text ?? "");
    else if (block.type === "thinking") blocks.reasoning(block.thinking, block.signature);
    else if (block.type === "redacted_thinking") blocks.sealed(block.data ?? "");
    else if (block.type === "tool_use") blocks.call(block.id, block.name, block.input);
  }
  const finish = finishReason(message.stop_reason, blocks.called());
  return completionFrom(target, {
    id: message.id,
    model: message.model,
    choices: [{ message: blocks.message(), finish }],
    usage: message.usage && readUsage(message.usage),
  });
}

export function finishReason(reason: string | null | undefined, hasCalls: boolean): string {
  switch (reason) {
    case "max_tokens":
    case "model_context_window_exceeded":
      return "length";
    case "refusal":
      return "content_filter";
    default:
      // The client has to answer a call, whatever the stop reason is.
      return hasCalls ? "tool_calls" : "stop";
  }
}

/** OpenAI's prompt tokens include those read from and written to the cache; Anthropic's do not. */
export function readUsage(usage: MessageUsage): Usage {
  const read = readCountOrZero(usage.cache_read_input_tokens);
  const written = readCountOrZero(usage.cache_creation_input_tokens);
  const prompt = readCountOrZero(usage.input_tokens) + read + written;
  const reasoning = usage.output_tokens_details?.thinking_tokens;
  return tokenUsage({
    prompt,
    completion: readCountOrZero(usage.output_tokens),
    cached: read,
    written,
    reasoning,
  });
}
