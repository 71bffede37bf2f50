/** The same task where the upstream refuses requests on the way, as far as agents know what to do then. */
import type { Problem } from "../../support/upstreams/dialect.ts";
import type { ClientProgram } from "./program.ts";

/** Refuses so many requests, from the one that brings the first result on. */
function refusing(program: ClientProgram, problem: Problem, times: number): ClientProgram["act"] {
  const refused = new WeakMap<object, number>();
  return (request, place) => {
    const count = refused.get(place) ?? 0;
    const hasResult = request.view.turns.some(({ results }) => results.length > 0);
    if (!hasResult || count === times) return program.act(request, place);
    refused.set(place, count + 1);
    return { refuse: problem };
  };
}

/** The program waits, and does its task. */
export function withRateLimits(program: ClientProgram): ClientProgram {
  const name = `${program.name}, with two rate limits on the way`;
  return { ...program, name, act: refusing(program, "rate_limit", 2) };
}

/** The program sees what the matter is, and says so in words of its own; a longer history it would have compacted. */
export function withLongPrompt(program: ClientProgram, words: string): ClientProgram {
  return {
    ...program,
    name: `${program.name}, told that its prompt is too long`,
    act: refusing(program, "context_length", Number.POSITIVE_INFINITY),
    findFault: ({ output }) => (output.includes(words) ? undefined : "no word of it"),
  };
}
