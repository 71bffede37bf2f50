/** Recognises errors about a prompt that is too long for the model's context: each provider phrases them differently. */

// cspell:ignore imum
/** The code that OpenAI's clients look for, such as agents that compact their history then. */
export const CONTEXT_LENGTH = "context_length_exceeded";

/** How many tokens a request had, and how many the model takes. */
export interface ContextFigures {
  tokens?: number | undefined;
  limit?: number | undefined;
}

const TOO_LONG = new RegExp(
  [
    // OpenAI, Azure, OpenRouter, vLLM, DeepSeek, Groq, Cerebras, Ollama, Mistral
    "max(?:imum)? context (?:length|window|size)",
    "maximum (?:prompt|model|input) length",
    "reduce the length of",
    // OpenAI's Responses, llama.cpp, MiniMax, Anthropic
    "context (?:window|length|size|limit)[^.]{0,40}exceed",
    "exceed[^.]{0,40}context[ _](?:window|length|size|limit)",
    "(?:prompt|input|request) (?:is |was )?too long",
    // Gemini, Copilot, OpenAI
    "token count[^.]{0,60}(?:exceeds|only supports|up to)",
    "input tokens? exceed",
    "number of (?:input )?tokens (?:allowed|exceeds)",
    // Bedrock, Cohere
    "too many (?:input |total )?tokens",
    // Moonshot, LM Studio, TGI and Together, vLLM
    "exceeded model token limit",
    "context length of only",
    "`inputs`[^.]{0,60}tokens",
    "decoder prompt[^.]{0,60}longer than",
  ].join("|"),
  "i",
);
/** Limits of a rate, and of the response's length, are something else. */
const OTHER_LIMIT =
  /per[ -](?:minute|day|hour)|\bTPM\b|max(?:_completion)?_tokens['"`]?(?: or [^.]{0,40})? is too large/i;

const CODES = new Set([
  CONTEXT_LENGTH,
  "exceed_context_size_error",
  "model_context_window_exceeded",
]);

/** True for an error about the length of the prompt, by its code, type or words. */
export function isContextLength(problem: {
  message: string;
  code?: string | undefined;
  type?: string | undefined;
}): boolean {
  const { message, code, type } = problem;
  if (CODES.has(code ?? "") || CODES.has(type ?? "")) return true;
  return TOO_LONG.test(message) && !OTHER_LIMIT.test(message);
}

const NUMBER = /\d{1,3}(?:,\d{3})+|\d{2,}/g;
/** "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000" */
const SUM = /(\d+) \+ (\d+) > (\d+)/;
const LIMIT =
  /(?:max(?:imum)?[a-z ]*|context (?:length|size|window|limit)|input tokens|limit(?: of| is|:)?|allowed|only)\D{0,30}?(\d{1,3}(?:,\d{3})+|\d{2,})/i;

/** The figures that an error names. `members` are those of its error object (llama.cpp: `n_prompt_tokens`, `n_ctx`). */
export function contextFigures(
  message: string,
  members: Record<string, unknown> = {},
): ContextFigures {
  const { n_prompt_tokens: tokens, n_ctx: limit } = members;
  if (typeof tokens === "number" && typeof limit === "number") return { tokens, limit };
  const sum = SUM.exec(message);
  if (sum !== null) return { tokens: Number(sum[1]) + Number(sum[2]), limit: Number(sum[3]) };
  const numbers = (message.match(NUMBER) ?? []).map(parseCount).sort((a, b) => b - a);
  const named = LIMIT.exec(message)?.[1];
  const namedLimit = named === undefined ? undefined : parseCount(named);
  const [most, next] = numbers;
  if (most === undefined) return {};
  if (namedLimit !== undefined && namedLimit < most) return { tokens: most, limit: namedLimit };
  if (next !== undefined && next < most) return { tokens: most, limit: next };
  return { limit: most };
}

function parseCount(text: string): number {
  return Number(text.replaceAll(",", ""));
}

/** Anthropic's words, which its clients look for. What an error does not name is filled in from the request's size. */
export function promptTooLong({ tokens, limit }: ContextFigures, estimated: number): string {
  const most = limit ?? Math.max(1, (tokens ?? estimated) - 1);
  const count = Math.max(tokens ?? estimated, most + 1);
  return `prompt is too long: ${count} tokens > ${most} maximum`;
}
