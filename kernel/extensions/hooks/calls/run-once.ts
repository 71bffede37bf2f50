/** One call of a hook by hand, against an event's sample: what it would do, and what it said. */
import type { HookLogLine, HookRunRequest, HookRunReport } from "../../../contract/management.ts";
import type { Bus } from "../../../bus.ts";
import { PorticoError } from "../../../errors.ts";
import { runAs } from "../../../owner.ts";
import { didYouMean } from "../../../text/nearest.ts";
import { withDeadline } from "../../../timing/deadline.ts";
import type { BusEvent, HookContext, Logger } from "../../../types.ts";
import { problemOf, sayProblem } from "../../problem.ts";
import { createHookLogger } from "./hook-log.ts";
import { backstopMs } from "../../load/bounded.ts";
import { invoke } from "./invoke.ts";
import type { HookVersion } from "../version.ts";

export interface RunOnceParts {
  version: HookVersion;
  request: HookRunRequest;
  bus: Pick<Bus, "spec" | "specs">;
  log: Logger;
  contextFor(signal: AbortSignal, log: Logger): HookContext;
}

/** Never throws for what the handler does; a wrong event or context is an `invalid_request_error`. */
export async function runOnce({ version, request, bus, log, contextFor }: RunOnceParts): Promise<HookRunReport> {
  const name = eventOf(version, request, bus);
  const spec = bus.spec(name);
  const context = { ...structuredClone((spec?.sample ?? {}) as Record<string, unknown>), ...request.context };
  const colon = name.indexOf(":");
  const event = {
    type: name.slice(0, colon),
    action: name.slice(colon + 1),
    name,
    sessionKey: request.sessionKey ?? "main",
    timestamp: new Date(),
    context,
    messages: [],
  } as unknown as BusEvent;
  const logs: HookLogLine[] = [];
  const controller = new AbortController();
  const { timeoutMs } = version.meta;
  const report = { hook: version.candidate.name, event: name, context, logs };
  const began = performance.now();
  const elapsed = () => Math.round((performance.now() - began) * 100) / 100;
  try {
    const ctx = contextFor(
      controller.signal,
      createHookLogger(log, (line) => logs.push(line)),
    );
    const given = runAs(
      `hook:${version.candidate.name}`,
      () => invoke({ handler: version.handler, event, spec, ctx, limitMs: timeoutMs + backstopMs }),
      name,
    );
    const effects = await withDeadline(given, timeoutMs, () => new Late(timeoutMs));
    return { ...report, ok: true, ms: elapsed(), effects };
  } catch (thrown) {
    controller.abort(thrown);
    const { realDir, handler } = version.candidate;
    const problem = problemOf(thrown, realDir, handler);
    return {
      ...report,
      ok: false,
      ms: elapsed(),
      error: sayProblem(problem, realDir),
      file: problem.file,
      line: problem.line,
      timedOut: thrown instanceof Late || undefined,
    };
  }
}

class Late extends Error {
  constructor(timeoutMs: number) {
    super(`still running after its deadline of ${timeoutMs} ms`);
  }
}

function eventOf(version: HookVersion, request: HookRunRequest, bus: Pick<Bus, "specs">): string {
  const { events } = version.meta;
  const wanted = request.event ?? (events.length === 1 ? events[0] : undefined);
  if (wanted === undefined) {
    throw new PorticoError("invalid_request_error", `Say which event: this hook handles ${events.join(", ")}.`, {
      param: "event",
    });
  }
  if (events.includes(wanted)) return wanted;
  const near = didYouMean(wanted, [...events, ...bus.specs().keys()]);
  throw new PorticoError(
    "invalid_request_error",
    `The hook does not handle ${wanted}, but ${events.join(", ")}.${near && near !== wanted ? ` Did you mean ${near}?` : ""}`,
    { param: "event" },
  );
}
