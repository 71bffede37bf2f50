import {
  type UpstreamError,
  upstreamError,
  type UpstreamProblem,
} from "../stream/upstream-error.ts";

/**
 * Returns the error for a problem inside a response of status 200. The upstream had already accepted the request, so it is
 * the upstream's failure; only overload and rate limits keep their kinds.
 */
export function errorInResponse(problem: UpstreamProblem): UpstreamError {
  const kind =
    problem.kind === "overloaded" || problem.kind === "rate_limit" ? problem.kind : "upstream";
  return upstreamError({ ...problem, kind }, 200);
}

/**
 * Returns the error in a response or event of status 200 in OpenAI's form: a truthy `error`, beside the choices or in one
 * of them (OpenRouter), or a choice that finished with `error`. Undefined if there is none.
 */
export function errorValueIn({ error, choices }: { error?: unknown; choices?: unknown }): unknown {
  if (error || !Array.isArray(choices)) return error || undefined;
  for (const choice of choices as ({ error?: unknown; finish_reason?: unknown } | null)[]) {
    if (choice?.error) return choice.error;
    if (choice?.finish_reason === "error")
      return { message: "The upstream ended its response with an error." };
  }
  return undefined;
}

/** Returns the error for a stream that ended without its last event. */
export function cutShort(): UpstreamError {
  return upstreamError(
    { kind: "upstream", message: "The upstream's response ended before it was complete." },
    0,
  );
}

/** Returns the error for an event of a stream that is not JSON. */
export function notJson(): UpstreamError {
  return upstreamError(
    { kind: "upstream", message: "The upstream sent an event that is not JSON." },
    0,
  );
}
