/** Calls a hook manually once, and returns the effects that it asks for and its log. */
import type { UntypedEvent } from "../../bus.ts";
import type { BusHandler, Logger } from "../../../contract/index.ts";
import { backstopMs, beginBounded } from "../../../loader/bounded.ts";
import { toProblem, formatProblem } from "../../../loader/problem.ts";
import type { HookHostOptions } from "./settings.ts";
import type { HookVersion } from "./version.ts";
import { keepLines } from "../../../log/kept-lines.ts";
import { createHandlerContext } from "./handler-context.ts";
import { type Effects, invoke } from "./invoke.ts";
import { roundMs } from "../record.ts";

/** Calls the hook. Never throws because of the handler: the result has its error. */
export async function tryOut(
  version: HookVersion,
  event: UntypedEvent,
  host: HookHostOptions,
  log: Logger,
) {
  const { handler, meta, candidate } = version;
  const { timeoutMs } = meta;
  const { log: ownLog, lines: logs } = keepLines(log, Number.POSITIVE_INFINITY);
  let effects: Effects | undefined;
  const call: BusHandler = async (ownEvent, busCall) => {
    const { signal } = busCall;
    const { principal } = ownEvent;
    const ctx = createHandlerContext(version, host, { signal, principal }, ownLog);
    effects = await invoke(handler, ownEvent, ctx, host.bus.specs());
  };
  const begin = (start: () => void) => beginBounded(start, timeoutMs + backstopMs);
  const owner = `hook:${candidate.name}`;
  const { ok, ms, error, timedOut } = await host.bus.call(event, call, {
    owner,
    timeoutMs,
    begin,
  });
  const problem = error && toProblem(error, candidate.realDir, candidate.handler);
  return {
    ok,
    ms: roundMs(ms),
    effects,
    error: problem && formatProblem(problem, candidate.realDir),
    file: problem?.file,
    line: problem?.line,
    timedOut,
    logs,
  };
}
export type HookTrial = Awaited<ReturnType<typeof tryOut>>;
