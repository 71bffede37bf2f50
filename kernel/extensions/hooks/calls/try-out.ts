/** One call of a hook by hand: what it would do, and what it said. */
import type { Bus, GivenEvent } from "../../../bus.ts";
import type { BusHandler, HookContext, Logger } from "../../../types.ts";
import { backstopMs } from "../../../modules/bounded.ts";
import { problemOf, sayProblem } from "../../../modules/problem.ts";
import type { HookVersion } from "../version.ts";
import { keepLines } from "../../../log/kept-lines.ts";
import { type Effects, invoke } from "./invoke.ts";
import { rounded } from "./runner.ts";

export interface Trying {
  event: GivenEvent;
  bus: Pick<Bus, "call" | "spec">;
  log: Logger;
  contextFor(signal: AbortSignal, log: Logger): HookContext;
}

/** Never throws for what the handler does. */
export async function tryOut(version: HookVersion, { event, bus, log, contextFor }: Trying) {
  const { handler, meta, candidate } = version;
  const { timeoutMs } = meta;
  const { log: own, lines: logs } = keepLines(log, Number.POSITIVE_INFINITY);
  let effects: Effects | undefined;
  const call: BusHandler = async (given, { signal }) => {
    const spec = bus.spec(given.name);
    const limitMs = timeoutMs + backstopMs;
    effects = await invoke({ handler, event: given, spec, ctx: contextFor(signal, own), limitMs });
  };
  const owner = `hook:${candidate.name}`;
  const { ok, ms, error, timedOut } = await bus.call(event, call, { owner, timeoutMs });
  const problem = error && problemOf(error, candidate.realDir, candidate.handler);
  const said = problem && sayProblem(problem, candidate.realDir);
  return { ok, ms: rounded(ms), effects, error: said, file: problem?.file, line: problem?.line, timedOut, logs };
}
export type HookTrial = Awaited<ReturnType<typeof tryOut>>;
