/** Converts the object of a response to the terms of chat: usage, finish reason, error. */
import { isObject } from "../request/is-object.ts";
import { asFailure } from "../openai/errors.ts";
import { readCountOrZero } from "../response/read-members.ts";
import { tokenUsage } from "../response/write-completion.ts";
import { readOpenAiProblem, type UpstreamError, upstreamError } from "../stream/upstream-error.ts";
import type { Usage } from "../types/format.ts";

type Members = Record<string, unknown>;

export function membersOf(value: unknown): Members {
  return isObject(value) ? value : {};
}

/** Converts `usage`; undefined if the response has none. */
export function responseUsage(usage: unknown): Usage | undefined {
  if (!isObject(usage)) return undefined;
  const input = membersOf(usage["input_tokens_details"]);
  const output = membersOf(usage["output_tokens_details"]);
  return tokenUsage({
    prompt: readCountOrZero(usage["input_tokens"]),
    completion: readCountOrZero(usage["output_tokens"]),
    cached: readCountOrZero(input["cached_tokens"]),
    written: readCountOrZero(input["cache_write_tokens"]),
    reasoning: readCountOrZero(output["reasoning_tokens"]),
  });
}

/** Converts `incomplete_details` to a finish reason of chat. */
export function responseFinish(response: Members): string {
  const { reason } = membersOf(response["incomplete_details"]) as { reason?: unknown };
  if (reason === "max_output_tokens") return "length";
  return reason === "content_filter" ? "content_filter" : "stop";
}

/** Returns the error in a response, or in an event of type `error`. */
export function responseError(holder: Members): UpstreamError {
  const error = isObject(holder["error"]) ? holder["error"] : holder;
  const problem = readOpenAiProblem(200, Buffer.from(JSON.stringify({ error })));
  return upstreamError(asFailure(problem), 200);
}
