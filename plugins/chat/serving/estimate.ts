/** What a stream came to that a client has left before the upstream told: so that leaving early is not free. */
import type { ChatRequest, Usage } from "portico/chat";

/** A token has about four characters, in the languages that models speak most. */
const CHARS_PER_TOKEN = 4;

/** Counts what goes out of a stream, at no cost but a sum. */
export class Outgoing {
  #bytes = 0;
  #last: Buffer | undefined;

  add(bytes: Buffer): void {
    this.#bytes += bytes.length;
    this.#last = bytes;
  }

  /** Tokens by the number of events, and by the text of those that went out last. */
  get tokens(): number {
    if (this.#last === undefined) return 0;
    const events = this.#last
      .toString("utf8")
      .split("\n\n")
      .filter((event) => event !== "");
    const strings = events.flatMap(
      (event) =>
        event.match(
          /"(?:content|text|reasoning_content|arguments|partial_json|thinking)":"(?:[^"\\]|\\.){0,10000}/g,
        ) ?? [],
    );
    const chars = strings.reduce((sum, string) => sum + string.length - string.indexOf(":") - 2, 0);
    const perRead = Math.max(strings.length, chars / CHARS_PER_TOKEN);
    return Math.ceil((this.#bytes / this.#last.length) * perRead);
  }
}

/** By the size of its messages. */
export function estimatedPromptTokens({ messages }: ChatRequest): number {
  return Math.ceil(JSON.stringify(messages).length / CHARS_PER_TOKEN);
}

/** What the upstream told so far, or more where more has gone out. */
export function estimatedUsage(
  told: Usage | undefined,
  request: ChatRequest,
  outgoing: Outgoing,
): Usage {
  const prompt = told?.prompt_tokens || estimatedPromptTokens(request);
  const completion = Math.max(told?.completion_tokens ?? 0, outgoing.tokens);
  return {
    ...told,
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
  };
}
