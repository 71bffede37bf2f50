/** Usage that a stream reports more than once. */
import type { Usage } from "../types/format.ts";

/** What is known after another event: numbers above 0 replace earlier ones, zeros and nonsense never do. */
export function laterUsage(known: Usage | undefined, told: Usage): Usage {
  if (known === undefined) return told;
  const prompt = isReal(told.prompt_tokens) ? told.prompt_tokens : known.prompt_tokens;
  const isNews = isReal(told.prompt_tokens) || isReal(told.completion_tokens);
  if (!isNews) return known;
  const completion = isReal(told.completion_tokens)
    ? told.completion_tokens
    : known.completion_tokens;
  return {
    ...known,
    ...told,
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
  };
}

function isReal(count: unknown): boolean {
  return Number.isSafeInteger(count) && (count as number) > 0;
}
