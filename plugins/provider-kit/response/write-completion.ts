/** Pieces of a response in OpenAI's form, for the formats that are translated into it. */
import type { ChatCompletion, ChatMessage, Usage } from "../types/format.ts";
import type { Target } from "../types/provider.ts";
import { readIndex, readText } from "./read-members.ts";
import { readCount } from "./token-counts.ts";

/** The text, reasoning and calls of a response. */
interface Answered<C> {
  text: string;
  reasoning?: string | undefined;
  calls: C[];
}

/** The message of a response; no content at all beside calls is `null`. */
export function assistantMessage<C>({ text, reasoning, calls }: Answered<C>) {
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
  /** Those of the cache among them. */
  prompt: number;
  completion: number;
  /** Where the upstream counts more than the two. */
  total?: number | undefined;
  cached?: number | null | undefined;
  written?: number | undefined;
  reasoning?: number | null | undefined;
}

/** `usage`; details that are not known, or cannot be true, are left out. */
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

/** A completion of one target. The target supplies what the upstream leaves out. */
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
