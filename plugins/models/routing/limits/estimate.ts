/** Estimates the tokens of a request before it is sent. That many are reserved of the limits that it counts against. */

export interface TokenEstimate {
  prompt: number;
  completion: number;
  /** The request does not limit its completion. */
  isGuess: boolean;
}

type Fields = Readonly<Record<string, unknown>>;

const BYTES_PER_TOKEN = 4;
const GUESSED_COMPLETION = 1024;
/** The estimate for an image, a recording or a file, whose tokens do not follow from the size of its encoding. */
const MEDIA_BYTES = 1500 * BYTES_PER_TOKEN;
/** The estimate for the tokens that a provider adds around each message. */
const MESSAGE_BYTES = 3 * BYTES_PER_TOKEN;
const SHORTEST_MEDIA = 256;

/** Routes whose responses contain no tokens. */
const WITHOUT_COMPLETION = new Set(["embeddings", "moderations", "rerank"]);
/** Fields that become part of the prompt, by their names in all request formats. */
const PROMPT_FIELDS = [
  "messages",
  "tools",
  "functions",
  "response_format",
  "input",
  "prompt",
  "suffix",
  "instructions",
  "query",
  "documents",
];
const COMPLETION_LIMITS = ["max_completion_tokens", "max_tokens", "max_output_tokens"];
/** Members of a message that are not part of the prompt's text. */
const NOT_TEXT = new Set(["role", "type", "cache_control"]);
const MEDIA_FIELDS = new Set(["data", "file_data", "b64_json"]);

/** `operation` is the route; undefined for chat. */
export function estimateTokens(request: Fields, operation: string | undefined): TokenEstimate {
  const limit = completionLimit(request);
  const choices = Math.max(1, wholeNumber(request["n"]), wholeNumber(request["best_of"]));
  const completionTokens = limit ?? GUESSED_COMPLETION;
  const hasCompletion = operation === undefined || !WITHOUT_COMPLETION.has(operation);
  return {
    prompt: promptTokens(request),
    completion: hasCompletion ? completionTokens * choices : 0,
    isGuess: limit === undefined,
  };
}

/** Estimates one token for four bytes, in any language. */
export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

export function promptTokens(request: Fields): number {
  let bytes = 0;
  for (const name of PROMPT_FIELDS) bytes += sizeOf(request[name], name);
  return tokensOfBytes(bytes);
}

/** The maximum length of the completion in tokens, if the request sets one. */
export function completionLimit(request: Fields): number | undefined {
  const limits = COMPLETION_LIMITS.map((name) => wholeNumber(request[name])).filter(Boolean);
  return limits.length === 0 ? undefined : Math.max(...limits);
}

/** Returns 0 for a value that is not a positive integer. */
export function wholeNumber(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : 0;
}

function sizeOf(value: unknown, name: string): number {
  if (typeof value === "string")
    return isMedia(value, name) ? MEDIA_BYTES : Buffer.byteLength(value);
  if (typeof value === "number") return BYTES_PER_TOKEN;
  if (typeof value !== "object" || value === null) return 0;
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + sizeOf(each, name), 0);
  return sizeOfMembers(value as Fields);
}

function sizeOfMembers(fields: Fields): number {
  let bytes = "role" in fields ? MESSAGE_BYTES : 0;
  for (const name in fields) if (!NOT_TEXT.has(name)) bytes += sizeOf(fields[name], name);
  return bytes;
}

function isMedia(text: string, name: string): boolean {
  if (text.length < SHORTEST_MEDIA) return false;
  return text.startsWith("data:") || MEDIA_FIELDS.has(name);
}
