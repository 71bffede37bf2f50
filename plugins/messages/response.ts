/** Translates a completion into a Message. */
import {
  type ChatCompletion,
  type ChatMessage,
  parseCounted,
  parseExact,
  repairCounts,
  sealExtras,
  tokensOfCharacters,
  type Usage,
} from "portico/provider";

export interface MessageUsage {
  input_tokens: number;
  cache_creation_input_tokens: number;
  cache_read_input_tokens: number;
  output_tokens: number;
}

/**
 * Translates a completion. `model` is the name in the request: clients compare it, and leave out signed thinking of other
 * models. `estimate` returns the tokens of the prompt, for channels that do not count.
 */
export function messageOf(
  completion: ChatCompletion,
  model: string,
  estimate: () => number = () => 0,
): Record<string, unknown> {
  const choice = completion.choices[0];
  const message = choice?.message ?? { role: "assistant" };
  const calls = message.tool_calls ?? [];
  const content: Record<string, unknown>[] = [];
  const sealed = sealExtras(message["extra_content"], calls);
  if (sealed !== undefined) content.push({ type: "redacted_thinking", data: sealed });
  if (message.reasoning_content)
    content.push({ type: "thinking", thinking: message.reasoning_content, signature: "" });
  const text =
    typeof message.content === "string" && message.content !== ""
      ? message.content
      : message["refusal"];
  if (typeof text === "string" && text !== "") content.push({ type: "text", text });
  for (const call of calls) {
    content.push({
      type: "tool_use",
      id: call.id ?? "",
      name: call.function?.name ?? "",
      input: inputOf(call.function?.arguments ?? ""),
    });
  }
  return {
    id: messageId(completion.id),
    type: "message",
    role: "assistant",
    model,
    content,
    stop_reason: stopReason(choice?.finish_reason, calls.length > 0),
    stop_sequence: null,
    usage: hasCounted(completion.usage)
      ? usageOf(completion.usage)
      : estimatedUsage(estimate(), charactersIn(message)),
  };
}

/** Returns a channel's message with the requested model, and with the call ids of the completion. */
export function nativeMessage(
  body: Buffer,
  { choices }: ChatCompletion,
  model: string,
): Record<string, unknown> {
  const message = parseExact(body.toString("utf8")) as Record<string, unknown>;
  repairCounts(message["usage"]);
  const ids = (choices[0]?.message.tool_calls ?? []).map(({ id }) => id);
  const content = message["content"];
  if (!Array.isArray(content)) return { ...message, model };
  const blocks = content.map((block: Record<string, unknown>) => {
    if (block["type"] !== "tool_use") return block;
    return { ...block, id: ids.shift() ?? block["id"] };
  });
  return { ...message, model, content: blocks };
}

export function messageId(id: string): string {
  return id.startsWith("msg_") ? id : `msg_${id.replace(/^chatcmpl-(?:msg_)?/, "")}`;
}

/** Parses arguments. A text that is no JSON object becomes the member `arguments`, so that nothing is lost. */
function inputOf(text: string): Record<string, unknown> {
  if (text.trim() === "") return {};
  try {
    const value = parseCounted(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
    if (value === null) return {};
  } catch {}
  return { arguments: text };
}

export function stopReason(reason: string | null | undefined, hasCalls: boolean): string {
  switch (reason) {
    case "length":
      return "max_tokens";
    case "tool_calls":
    case "function_call":
      return "tool_use";
    case "content_filter":
      return "refusal";
    default:
      return hasCalls ? "tool_use" : "end_turn";
  }
}

/** Estimates the usage from the number of characters that the model has written. */
export function estimatedUsage(promptTokens: number, characters: number): MessageUsage {
  const output_tokens = tokensOfCharacters(characters);
  return { ...usageOf(undefined), input_tokens: promptTokens, output_tokens };
}

/** Returns false for zeros, which mean that the channel does not count. */
export function hasCounted(usage: Usage | null | undefined): usage is Usage {
  return usage != null && usage.prompt_tokens + usage.completion_tokens > 0;
}

function charactersIn({ content, reasoning_content: reasoning, tool_calls: calls }: ChatMessage) {
  const texts = [content, reasoning, ...(calls ?? []).map((call) => call.function?.arguments)];
  return texts.reduce((sum, text) => sum + (typeof text === "string" ? text.length : 0), 0);
}

/** Translates the usage; zeros if unknown. Anthropic counts cached tokens in addition to the input, OpenAI as a part of it. */
export function usageOf(usage: Usage | null | undefined): MessageUsage {
  const read = usage?.prompt_tokens_details?.cached_tokens ?? 0;
  const written = usage?.prompt_tokens_details?.cache_write_tokens ?? 0;
  return {
    input_tokens: Math.max(0, (usage?.prompt_tokens ?? 0) - read - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
    output_tokens: usage?.completion_tokens ?? 0,
  };
}
