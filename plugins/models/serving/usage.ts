/**
 * Determines the usage that is counted: the upstream's numbers if they are plausible, and otherwise the gateway's
 * estimate. The usage of every request passes here once, at its end.
 */
import type { ChatCompletion, StreamPart, Usage } from "portico/provider";
import type { Job } from "../job.ts";
import {
  completionLimit,
  estimateTokens,
  promptTokens,
  tokensOfBytes,
  wholeNumber,
} from "../routing/limits/estimate.ts";

/** The received output of a response. */
export interface Output {
  bytes: number;
  /** Estimates the tokens, for which the response may have to be parsed. */
  tokens(): number;
}

export const NO_OUTPUT: Output = { bytes: 0, tokens: () => 0 };

/** Tokens that providers may add before a prompt: their system prompts, descriptions of tools. */
const MAX_HIDDEN_PROMPT = 20_000;
/** The longest prompts of any model. Applies if media or hosted tools may make a prompt longer than its bytes. */
const MAX_PROMPT = 2_000_000;
/** Tokens that servers count in addition to the text that they send: role marks, templates, stop sequences. */
const MAX_UNSEEN_COMPLETION = 256;
/** Tokens of reasoning that the response does not show. */
const MAX_HIDDEN_COMPLETION = 200_000;
/** Matches prompts whose number of tokens does not follow from their text. */
const HAS_MEDIA =
  /"(?:image_url|input_image|file|file_id|input_file|input_audio|video_url|url|web_search_options)":/;

/**
 * Determines the usage to count. `reported` has the upstream's numbers, which may be wrong. Returns undefined if
 * nothing was used, or if it is counted elsewhere.
 */
export function countedUsage(
  job: Job,
  reported: Usage | undefined,
  {
    status,
    output,
    operation,
  }: { status: number; output: Output | undefined; operation?: string | undefined },
): Usage | undefined {
  const { composite, cache } = job.trace;
  if (composite || cache === "hit") return undefined;
  const hasDisconnected = status === 499;
  if (output === undefined && reported === undefined)
    return hasDisconnected && job.isAttempting ? estimatedUsage(promptOf(job), 0) : undefined;
  const received = output ?? NO_OUTPUT;
  const prompt = reportedPrompt(job, reported, operation);
  const completion = hasDisconnected
    ? completionSoFar(job, reported, received)
    : reportedCompletion(job, reported, received);
  if (reported !== undefined && prompt !== undefined && completion !== undefined)
    return consistentUsage(reported, prompt, completion);
  // A completion of 0 tokens next to a missing prompt counts as missing as well.
  return estimatedUsage(
    prompt ?? promptOf(job),
    completion || completionOf(job, received, operation),
  );
}

function promptOf(job: Job): number {
  return Math.max(1, promptTokens(requestOf(job)));
}

function completionOf(job: Job, output: Output, operation: string | undefined): number {
  const hasCompletion = estimateTokens(requestOf(job), operation).completion > 0;
  return hasCompletion ? output.tokens() : 0;
}

function estimatedUsage(prompt: number, completion: number): Usage {
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    estimated: true,
  };
}

/** Returns the upstream's numbers, without details that contradict them. */
function consistentUsage(reported: Usage, prompt: number, completion: number): Usage {
  const usage = {
    ...reported,
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
  };
  const { cached_tokens: cachedTokens, cache_write_tokens: writtenTokens } =
    reported.prompt_tokens_details ?? {};
  if (
    isCount(cachedTokens ?? 0) &&
    isCount(writtenTokens ?? 0) &&
    (cachedTokens ?? 0) + (writtenTokens ?? 0) <= prompt
  )
    return usage;
  delete usage.prompt_tokens_details;
  return usage;
}

/** Returns the reported prompt tokens, or undefined if they are missing or implausible. */
function reportedPrompt(
  job: Job,
  reported: Usage | undefined,
  operation: string | undefined,
): number | undefined {
  const count = wholeNumber(reported?.prompt_tokens);
  if (count === 0) return undefined;
  if (count <= MAX_HIDDEN_PROMPT) return count;
  return count <= longestPrompt(job, operation) ? count : undefined;
}

function longestPrompt(job: Job, operation: string | undefined): number {
  const isText = operation === undefined || operation === "completions";
  if (!isText || job.native !== undefined) return MAX_PROMPT;
  const text = JSON.stringify(requestOf(job));
  return HAS_MEDIA.test(text) ? MAX_PROMPT : text.length + MAX_HIDDEN_PROMPT;
}

/** Returns the reported completion tokens, or undefined if they are missing or implausible. */
function reportedCompletion(
  job: Job,
  reported: Usage | undefined,
  output: Output,
): number | undefined {
  const count = reported?.completion_tokens;
  if (!isCount(count)) return undefined;
  const request = requestOf(job);
  const choices = Math.max(1, wholeNumber(request["n"]), wholeNumber(request["best_of"]));
  const reasoning = wholeNumber(reported?.completion_tokens_details?.reasoning_tokens);
  const limit = completionLimit(request) ?? MAX_HIDDEN_COMPLETION;
  const visible = output.bytes + choices * (limit + MAX_UNSEEN_COMPLETION);
  const maximum = visible + Math.min(reasoning, MAX_HIDDEN_COMPLETION);
  return count <= maximum ? count : undefined;
}

/**
 * Returns the reported completion tokens for a client that disconnected. The upstream reports its final usage last, so
 * they may be outdated: undefined if the client received more than they say.
 */
function completionSoFar(
  job: Job,
  reported: Usage | undefined,
  output: Output,
): number | undefined {
  const count = reportedCompletion(job, reported, output);
  return count !== undefined && count >= output.tokens() ? count : undefined;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function requestOf({ members, request }: Job): Readonly<Record<string, unknown>> {
  return members ?? request;
}

/** The output of a whole response. */
export function outputOf(bytes: number, completion: () => ChatCompletion): Output {
  return { bytes, tokens: () => tokensOfBytes(textBytes(completion())) };
}

function textBytes({ choices }: ChatCompletion): number {
  if (!Array.isArray(choices)) return 0;
  let bytes = 0;
  for (const choice of choices) {
    const { message, text } = choice as { message?: Record<string, unknown>; text?: unknown };
    const { content, reasoning_content: reasoning, refusal, tool_calls: calls } = message ?? {};
    for (const part of [text, content, reasoning, refusal]) bytes += bytesOf(part);
    if (Array.isArray(calls)) bytes += bytesOf(calls);
  }
  return bytes;
}

function bytesOf(value: unknown): number {
  if (value == null) return 0;
  return Buffer.byteLength(typeof value === "string" ? value : JSON.stringify(value));
}

/** Counts the output of a model in a parsed stream. */
export class StreamedOutput implements Output {
  bytes = 0;
  #parts = 0;

  add(parts: readonly StreamPart[]): void {
    for (const part of parts) {
      if (!isOutput(part)) continue;
      this.bytes += Buffer.byteLength(part.text);
      this.#parts++;
    }
  }

  /** Estimates at least one token per part, since most upstreams send one token at a time. */
  tokens(): number {
    return Math.ceil(Math.max(this.#parts, tokensOfBytes(this.bytes)));
  }
}

type OutputPart = Extract<StreamPart, { text: string; choice: number }>;

function isOutput(part: StreamPart): part is OutputPart {
  const { type } = part;
  const isText = type === "text" || type === "reasoning" || type === "refusal";
  return isText || type === "tool-arguments";
}

/** Counts the bytes of a stream of another route, at the cost of a sum. */
export class StreamedBytes implements Output {
  bytes = 0;
  /** The largest chunk: its share of text is taken for that of the whole stream. */
  #largest: Buffer | undefined;

  add(bytes: Buffer): void {
    this.bytes += bytes.length;
    if (this.#largest === undefined || bytes.length > this.#largest.length) this.#largest = bytes;
  }

  /** Estimates the tokens by the number of events and the length of their texts in the largest chunk. */
  tokens(): number {
    const largest = this.#largest;
    if (largest === undefined) return 0;
    const strings = largest.toString("utf8").match(TEXT_MEMBER) ?? [];
    const bytes = strings.reduce(
      (sum, text) => sum + Buffer.byteLength(text) - text.indexOf(":") - 2,
      0,
    );
    const inLargest = Math.max(strings.length, tokensOfBytes(bytes));
    return Math.ceil((this.bytes / largest.length) * inLargest);
  }
}

/** Members of events that contain a model's output. A part of a long one suffices for the estimate. */
const TEXT_MEMBER =
  /"(?:content|text|delta|reasoning_content|reasoning|arguments|partial_json|thinking)": ?"(?:[^"\\]|\\.){0,100000}/g;
