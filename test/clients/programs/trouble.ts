/** Variants of a program's task in which the upstream refuses requests, for agents that handle refusals. */
import type { Problem } from "../../support/upstreams/dialect.ts";
import type { ClientProgram } from "./program.ts";

/** Refuses `times` requests, beginning with the one that contains the first tool result. */
function refuseRequests(
  program: ClientProgram,
  problem: Problem,
  times: number,
): ClientProgram["act"] {
  const refused = new WeakMap<object, number>();
  return (request, place) => {
    const count = refused.get(place) ?? 0;
    const hasResult = request.view.turns.some(({ results }) => results.length > 0);
    if (!hasResult || count === times) return program.act(request, place);
    refused.set(place, count + 1);
    return { refuse: problem };
  };
}

/** The program must wait, and then complete its task. */
export function withRateLimits(program: ClientProgram): ClientProgram {
  const act = refuseRequests(program, "rate_limit", 2);
  return { ...program, variant: "two rate limits", act };
}

/** The program must recognise the refusal, and report it in its own `words`. With a longer history, it would compact it. */
export function withLongPrompt(program: ClientProgram, words: string): ClientProgram {
  return {
    ...program,
    variant: "prompt too long",
    act: refuseRequests(program, "context_length", Number.POSITIVE_INFINITY),
    findFault: ({ output }) =>
      output.includes(words) ? undefined : "The output does not say that the prompt is too long.",
  };
}
