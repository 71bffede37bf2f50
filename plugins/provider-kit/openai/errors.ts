/** Errors inside responses and events in OpenAI's form whose status says that all went well. */
import { isObject } from "../request/is-object.ts";
import { errorTold } from "../response/errors-in-response.ts";
import {
  readOpenAiProblem,
  type UpstreamError,
  upstreamError,
  type UpstreamProblem,
} from "../stream/upstream-error.ts";

/**
 * The error that a 200 response or a stream's event holds: one that `errorTold` finds, vLLM's `{"object":"error"}`, a bare
 * `{"detail"}` or `{"message"}` without choices.
 */
export function errorIn(value: unknown): UpstreamError | undefined {
  if (!isObject(value)) return undefined;
  const told = errorTold(value);
  const bare =
    !Array.isArray(value["choices"]) &&
    value["usage"] == null &&
    (value["detail"] != null || typeof value["message"] === "string");
  if (told === undefined && value["object"] !== "error" && !bare) return undefined;
  const body = Buffer.from(JSON.stringify(told === undefined ? value : { error: told }));
  return upstreamError(asFailure(readOpenAiProblem(200, body)), 200);
}

/** An error inside a response is the upstream's failure; a numeric code may tell overload and limits apart. */
export function asFailure(problem: UpstreamProblem): UpstreamProblem {
  const { code, ...rest } = problem;
  if (code === "429" || problem.type === "rate_limit_error") return { ...rest, kind: "rate_limit" };
  const isOverloaded = code === "503" || code === "529";
  return { ...rest, kind: isOverloaded ? "overloaded" : "upstream" };
}
