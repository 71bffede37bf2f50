/** Detects errors in responses and events in OpenAI's form whose status is 200. */
import { isObject } from "../request/is-object.ts";
import { errorValueIn } from "../response/errors-in-response.ts";
import {
  readOpenAiProblem,
  type UpstreamError,
  type UpstreamKind,
  upstreamError,
  type UpstreamProblem,
} from "../stream/upstream-error.ts";

/**
 * Returns the error in a 200 response or in an event of a stream: one that `errorValueIn` finds, vLLM's
 * `{"object":"error"}`, or a bare `{"detail"}` or `{"message"}` without choices.
 */
export function errorIn(value: unknown): UpstreamError | undefined {
  if (!isObject(value)) return undefined;
  const error = errorValueIn(value);
  const isBare =
    !Array.isArray(value["choices"]) &&
    value["usage"] == null &&
    (value["detail"] != null || typeof value["message"] === "string");
  if (error === undefined && value["object"] !== "error" && !isBare) return undefined;
  const body = Buffer.from(JSON.stringify(error === undefined ? value : { error }));
  return upstreamError(asFailure(readOpenAiProblem(200, body)), 200);
}

/** The kinds of errors about the upstream's capacity, by code or type. Some servers send the status as the code. */
const CAPACITY_KINDS = new Map<string | undefined, UpstreamKind>([
  ...["429", "rate_limit_exceeded", "rate_limit_error", "insufficient_quota", "slow_down"].map(
    (name) => [name, "rate_limit"] as const,
  ),
  ...["503", "529", "server_is_overloaded", "overloaded_error", "service_unavailable_error"].map(
    (name) => [name, "overloaded"] as const,
  ),
]);

/** Marks an error inside a response as the upstream's failure, unless its code or type is about limits or overload. */
export function asFailure(problem: UpstreamProblem): UpstreamProblem {
  const { code, ...rest } = problem;
  const kind = CAPACITY_KINDS.get(code) ?? CAPACITY_KINDS.get(problem.type) ?? "upstream";
  const isNamedLimit = kind === "rate_limit" && code !== undefined && !/^\d+$/.test(code);
  return { ...rest, kind, ...(isNamedLimit && { code }) };
}
