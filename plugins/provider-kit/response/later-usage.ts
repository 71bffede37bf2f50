/** Combines the usage that a stream reports more than once. */
import type { Usage } from "../types/format.ts";

/** Returns the usage after another event. Positive integers replace earlier counts; zeros and invalid counts do not. */
export function laterUsage(earlier: Usage | undefined, reported: Usage): Usage {
  if (earlier === undefined) return reported;
  const prompt = isReal(reported.prompt_tokens) ? reported.prompt_tokens : earlier.prompt_tokens;
  const hasCounts = isReal(reported.prompt_tokens) || isReal(reported.completion_tokens);
  if (!hasCounts) return earlier;
  const completion = isReal(reported.completion_tokens)
    ? reported.completion_tokens
    : earlier.completion_tokens;
  return {
    ...earlier,
    ...reported,
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
  };
}

function isReal(count: unknown): boolean {
  return Number.isSafeInteger(count) && (count as number) > 0;
}
