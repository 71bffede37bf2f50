/** Builds elements of a response in OpenAI's form, for formats that are translated into it. */
import type { ChatCompletion, ChatMessage, Usage } from "../types/format.ts";
import type { Target } from "../types/provider.ts";
import { readIndex, readText } from "./read-members.ts";
import { readCount } from "./token-counts.ts";

/** The text, reasoning and calls of a response. */
interface MessageContent<C> {
  text: string;
  reasoning?: string | undefined;
  calls: C[];
}

/** Builds the message of a response. `content` is `null` if there are calls and no text. */
export function assistantMessage<C>({ text, reasoning, calls }: MessageContent<C>) {
  return {
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    refusal: null,
    reasoning_content: reasoning || undefined,
    tool_calls: calls.length > 0 ? calls : undefined,
  };
}

/** Counts of tokens; null and undefined mean unknown. */
export interface TokenCounts {
  /** Includes the tokens that were read from or written to a cache. */
  prompt: number;
  completion: number;
  /** Set if the upstream counts more than prompt and completion. */
  total?: number | undefined;
  cached?: number | null | undefined;
  written?: number | undefined;
  reasoning?: number | null | undefined;
}

/** Builds `usage`. Omits details that are unknown or cannot be true. */
export function tokenUsage(counts: TokenCounts) {
  const prompt = readCount(counts.prompt) ?? 0;
  const completion = readCount(counts.completion) ?? 0;
  const cached = readCount(counts.cached);
  const reasoning = readCount(counts.reasoning);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: readCount(counts.total) ?? prompt + completion,
    prompt_tokens_details:
      cached === undefined
        ? undefined
        : { cached_tokens: cached, cache_write_tokens: readCount(counts.written) },
    completion_tokens_details:
      reasoning === undefined ? undefined : { reasoning_tokens: reasoning },
  };
}

/** Builds the completion of a target, which supplies the values that the upstream leaves out. */
export function completionFrom(
  target: Pick<Target, "id" | "created" | "model">,
  response: {
    id?: string | undefined;
    model?: string | undefined;
    choices: { index?: number; message: ChatMessage; finish: string }[];
    usage: Usage | undefined;
  },
): ChatCompletion {
  return {
    id: response.id ? `chatcmpl-${response.id}` : target.id,
    object: "chat.completion",
    created: target.created,
    model: readText(response.model, target.model),
    choices: response.choices.map(({ index, message, finish }, i) => ({
      index: readIndex(index, i),
      message,
      logprobs: null,
      finish_reason: finish,
    })),
    usage: response.usage,
  };
}
