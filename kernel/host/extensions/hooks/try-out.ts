/** One call of a hook by hand: what it would do, and what it logged. */
import type { GivenEvent } from "../../bus.ts";
import type { BusHandler, Logger } from "../../../contract/index.ts";
import { backstopMs, beginBounded } from "../../../loader/bounded.ts";
import { problemOf, sayProblem } from "../../../loader/problem.ts";
import type { HookHostOptions } from "./settings.ts";
import type { HookVersion } from "./version.ts";
import { keepLines } from "../../../log/kept-lines.ts";
import { createHandlerContext } from "./handler-context.ts";
import { type Effects, invoke } from "./invoke.ts";
import { roundMs } from "../record.ts";

/** Never throws for what the handler does. */
export async function tryOut(
  version: HookVersion,
  event: GivenEvent,
  around: HookHostOptions,
  log: Logger,
) {
  const { handler, meta, candidate } = version;
  const { timeoutMs } = meta;
  const { log: own, lines: logs } = keepLines(log, Number.POSITIVE_INFINITY);
  let effects: Effects | undefined;
  const call: BusHandler = async (ownEvent, running) => {
    const { signal } = running;
    const { principal } = ownEvent;
    const ctx = createHandlerContext(version, around, { signal, principal }, own);
    effects = await invoke(handler, ownEvent, ctx, around.bus.specs());
  };
  const begin = (begun: () => void) => beginBounded(begun, timeoutMs + backstopMs);
  const owner = `hook:${candidate.name}`;
  const { ok, ms, error, timedOut } = await around.bus.call(event, call, {
    owner,
    timeoutMs,
    begin,
  });
  const problem = error && problemOf(error, candidate.realDir, candidate.handler);
  return {
    ok,
    ms: roundMs(ms),
    effects,
    error: problem && sayProblem(problem, candidate.realDir),
    file: problem?.file,
    line: problem?.line,
    timedOut,
    logs,
  };
}
export type HookTrial = Awaited<ReturnType<typeof tryOut>>;
