/** Recognises errors about a prompt that exceeds the model's context, which each provider phrases differently. */

// cspell:ignore imum
/** The code that clients of OpenAI's format check, such as agents that then compact their history. */
export const CONTEXT_LENGTH = "context_length_exceeded";

/** The number of tokens of a request, and the limit of the model. */
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
/** Errors about limits of a rate, or of the response's length, have another meaning. */
const OTHER_LIMIT =
  /per[ -](?:minute|day|hour)|\bTPM\b|max(?:_completion)?_tokens['"`]?(?: or [^.]{0,40})? is too large/i;

const CONTEXT_LENGTH_CODES = new Set([
  CONTEXT_LENGTH,
  "exceed_context_size_error",
  "model_context_window_exceeded",
]);

/** True for an error about the length of the prompt, by its code, type or message. */
export function isContextLength(problem: {
  message: string;
  code?: string | undefined;
  type?: string | undefined;
}): boolean {
  const { message, code, type } = problem;
  if (CONTEXT_LENGTH_CODES.has(code ?? "") || CONTEXT_LENGTH_CODES.has(type ?? "")) return true;
  return TOO_LONG.test(message) && !OTHER_LIMIT.test(message);
}

const NUMBER = /\d{1,3}(?:,\d{3})+|\d{2,}/g;
/** "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000" */
const SUM = /(\d+) \+ (\d+) > (\d+)/;
const LIMIT =
  /(?:max(?:imum)?[a-z ]*|context (?:length|size|window|limit)|input tokens|limit(?: of| is|:)?|allowed|only)\D{0,30}?(\d{1,3}(?:,\d{3})+|\d{2,})/i;

/** Returns the figures in an error. `members` are those of its error object (llama.cpp: `n_prompt_tokens`, `n_ctx`). */
export function contextFigures(
  message: string,
  members: Record<string, unknown> = {},
): ContextFigures {
  const { n_prompt_tokens: tokens, n_ctx: limit } = members;
  if (typeof tokens === "number" && typeof limit === "number") return { tokens, limit };
  const sum = SUM.exec(message);
  if (sum !== null) return { tokens: Number(sum[1]) + Number(sum[2]), limit: Number(sum[3]) };
  const numbers = (message.match(NUMBER) ?? []).map(parseCount).sort((a, b) => b - a);
  const limitText = LIMIT.exec(message)?.[1];
  const namedLimit = limitText === undefined ? undefined : parseCount(limitText);
  const [largest, next] = numbers;
  if (largest === undefined) return {};
  if (namedLimit !== undefined && namedLimit < largest)
    return { tokens: largest, limit: namedLimit };
  if (next !== undefined && next < largest) return { tokens: largest, limit: next };
  return { limit: largest };
}

function parseCount(text: string): number {
  return Number(text.replaceAll(",", ""));
}

/** Returns Anthropic's message, which its clients check. Estimates the figures that the error lacks. */
export function promptTooLong({ tokens, limit }: ContextFigures, estimated: number): string {
  const maximum = limit ?? Math.max(1, (tokens ?? estimated) - 1);
  const count = Math.max(tokens ?? estimated, maximum + 1);
  return `prompt is too long: ${count} tokens > ${maximum} maximum`;
}
