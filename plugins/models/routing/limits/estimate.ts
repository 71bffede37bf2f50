/** Estimates the tokens of a request before it is made: so many are reserved of the limits that it counts against. */

export interface TokenEstimate {
  prompt: number;
  completion: number;
  /** The request sets no limit to its completion. */
  isGuess: boolean;
}

type Fields = Readonly<Record<string, unknown>>;

const BYTES_PER_TOKEN = 4;
const GUESSED_COMPLETION = 1024;
/** An image, a recording or a file: its tokens are not those of its encoding. */
const MEDIA_BYTES = 1500 * BYTES_PER_TOKEN;
/** What a provider writes around each message. */
const MESSAGE_BYTES = 3 * BYTES_PER_TOKEN;
const SHORTEST_MEDIA = 256;

/** Routes whose responses hold no tokens. */
const WITHOUT_COMPLETION = new Set(["embeddings", "moderations", "rerank"]);
/** Fields that become part of the prompt, by their names in all forms of requests. */
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
/** Members of a message whose names or values are no text of the prompt. */
const NOT_TEXT = new Set(["role", "type", "cache_control"]);
const MEDIA_FIELDS = new Set(["data", "file_data", "b64_json"]);

/** `operation` is the route, where it is another one than chat. */
export function estimateTokens(request: Fields, operation: string | undefined): TokenEstimate {
  const limit = completionLimit(request);
  const choices = Math.max(1, wholeNumber(request["n"]), wholeNumber(request["best_of"]));
  const each = limit ?? GUESSED_COMPLETION;
  const hasCompletion = operation === undefined || !WITHOUT_COMPLETION.has(operation);
  return {
    prompt: promptTokens(request),
    completion: hasCompletion ? each * choices : 0,
    isGuess: limit === undefined,
  };
}

/** About four bytes make a token, whatever the language. */
export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

export function promptTokens(request: Fields): number {
  let bytes = 0;
  for (const name of PROMPT_FIELDS) bytes += sizeOf(request[name], name);
  return tokensOfBytes(bytes);
}

/** How long the request lets a completion become, where it says so. */
export function completionLimit(request: Fields): number | undefined {
  const limits = COMPLETION_LIMITS.map((name) => wholeNumber(request[name])).filter(Boolean);
  return limits.length === 0 ? undefined : Math.max(...limits);
}

/** 0 for what is no whole number above 0. */
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
