/**
 * The usage that is counted: the upstream's numbers if they can be true, and the gateway's estimate otherwise. Every
 * request's usage goes through here, once, at its end.
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

/** What came of a response. */
export interface Output {
  bytes: number;
  /** An estimate, for which the response may have to be read. */
  tokens(): number;
}

export const NO_OUTPUT: Output = { bytes: 0, tokens: () => 0 };

/** What providers put before a prompt: system prompts of their own, descriptions of tools. */
const MOST_HIDDEN_PROMPT = 20_000;
/** The longest prompts of any model, where media or hosted tools make them longer than their bytes. */
const LONGEST_PROMPT = 2_000_000;
/** Tokens that servers count beside the text that they send: role marks, templates, stop sequences. */
const MOST_UNSEEN_COMPLETION = 256;
/** Reasoning that the response does not show. */
const MOST_HIDDEN_COMPLETION = 200_000;
/** Prompts whose tokens need not be those of their text. */
const HAS_MEDIA =
  /"(?:image_url|input_image|file|file_id|input_file|input_audio|video_url|url|web_search_options)":/;

/** `reported` has the upstream's numbers, right or wrong. Undefined if nothing was used, or others count it. */
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
  const isLeft = status === 499;
  if (output === undefined && reported === undefined)
    return isLeft && job.isAsking ? estimated(promptOf(job), 0) : undefined;
  const received = output ?? NO_OUTPUT;
  const prompt = reportedPrompt(job, reported, operation);
  const completion = isLeft
    ? completionSoFar(job, reported, received)
    : reportedCompletion(job, reported, received);
  if (reported !== undefined && prompt !== undefined && completion !== undefined)
    return cleaned(reported, prompt, completion);
  // A completion of 0 tokens beside a missing prompt is missing as well.
  return estimated(prompt ?? promptOf(job), completion || completionOf(job, received, operation));
}

function promptOf(job: Job): number {
  return Math.max(1, promptTokens(requestOf(job)));
}

function completionOf(job: Job, output: Output, operation: string | undefined): number {
  const hasCompletion = estimateTokens(requestOf(job), operation).completion > 0;
  return hasCompletion ? output.tokens() : 0;
}

function estimated(prompt: number, completion: number): Usage {
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    estimated: true,
  };
}

/** The upstream's numbers, without details that contradict them. */
function cleaned(reported: Usage, prompt: number, completion: number): Usage {
  const usage = {
    ...reported,
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
  };
  const { cached_tokens: read, cache_write_tokens: written } = reported.prompt_tokens_details ?? {};
  if (isCount(read ?? 0) && isCount(written ?? 0) && (read ?? 0) + (written ?? 0) <= prompt)
    return usage;
  delete usage.prompt_tokens_details;
  return usage;
}

/** Undefined where it is missing or cannot be true. */
function reportedPrompt(
  job: Job,
  reported: Usage | undefined,
  operation: string | undefined,
): number | undefined {
  const count = wholeNumber(reported?.prompt_tokens);
  if (count === 0) return undefined;
  if (count <= MOST_HIDDEN_PROMPT) return count;
  return count <= longestPrompt(job, operation) ? count : undefined;
}

function longestPrompt(job: Job, operation: string | undefined): number {
  const isText = operation === undefined || operation === "completions";
  if (!isText || job.native !== undefined) return LONGEST_PROMPT;
  const text = JSON.stringify(requestOf(job));
  return HAS_MEDIA.test(text) ? LONGEST_PROMPT : text.length + MOST_HIDDEN_PROMPT;
}

/** Undefined where it is missing or cannot be true. */
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
  const limit = completionLimit(request) ?? MOST_HIDDEN_COMPLETION;
  const visible = output.bytes + choices * (limit + MOST_UNSEEN_COMPLETION);
  const most = visible + Math.min(reasoning, MOST_HIDDEN_COMPLETION);
  return count <= most ? count : undefined;
}

/**
 * The upstream reports its usage last, so a client that disconnects earlier is charged for the output it received.
 * Undefined if that is more than the upstream reported.
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

/** A whole response. */
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

/** Counts the output of a model in a stream. */
export class StreamedOutput implements Output {
  bytes = 0;
  #pieces = 0;

  add(parts: readonly StreamPart[]): void {
    for (const part of parts) {
      if (!isSaid(part)) continue;
      this.bytes += Buffer.byteLength(part.text);
      this.#pieces++;
    }
  }

  /** At least one for each piece: most upstreams send a token at a time. */
  tokens(): number {
    return Math.ceil(Math.max(this.#pieces, tokensOfBytes(this.bytes)));
  }
}

type Said = Extract<StreamPart, { text: string; choice: number }>;

function isSaid(part: StreamPart): part is Said {
  const { type } = part;
  const isText = type === "text" || type === "reasoning" || type === "refusal";
  return isText || type === "tool-arguments";
}

/** Counts what goes out of a stream of another route, at no cost but a sum. */
export class StreamedBytes implements Output {
  bytes = 0;
  /** By it, how much of the stream is text is judged. */
  #largest: Buffer | undefined;

  add(bytes: Buffer): void {
    this.bytes += bytes.length;
    if (this.#largest === undefined || bytes.length > this.#largest.length) this.#largest = bytes;
  }

  /** By the number of events and the length of their texts, in the largest piece that went out. */
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

/** Members of events that hold a model's output; a piece of a long one is enough to judge by. */
const TEXT_MEMBER =
  /"(?:content|text|delta|reasoning_content|reasoning|arguments|partial_json|thinking)": ?"(?:[^"\\]|\\.){0,100000}/g;
