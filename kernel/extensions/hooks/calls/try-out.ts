/** One call of a hook by hand: what it would do, and what it said. */
import { runAs } from "../../../owner.ts";
import { withDeadline } from "../../../timing/deadline.ts";
import type { BusEvent, EventSpec, HookContext, Logger } from "../../../types.ts";
import { backstopMs } from "../../../modules/bounded.ts";
import { problemOf, sayProblem } from "../../../modules/problem.ts";
import type { HookVersion } from "../version.ts";
import { createKeptLogger, type HookLogLine } from "../../../log/kept-lines.ts";
import { type Effects, invoke } from "./invoke.ts";

/** The event of a call by hand. */
export interface HookTrialEvent {
  name: string;
  context: Record<string, unknown>;
  sessionKey?: string | undefined;
}

/** What became of one call by hand: what it would do, and what it said. */
export interface HookTrial {
  ok: boolean;
  ms: number;
  effects?: Effects;
  error?: string;
  file?: string;
  line?: number;
  timedOut?: boolean;
  logs: HookLogLine[];
}

export interface Trying {
  event: BusEvent;
  spec: EventSpec | undefined;
  log: Logger;
  contextFor(signal: AbortSignal, log: Logger): HookContext;
}

/** Never throws for what the handler does. */
export async function tryOut(version: HookVersion, { event, spec, log, contextFor }: Trying): Promise<HookTrial> {
  const { handler, meta, candidate } = version;
  const logs: HookLogLine[] = [];
  const controller = new AbortController();
  const late = new Error(`still running after its deadline of ${meta.timeoutMs} ms`);
  const began = performance.now();
  const elapsed = () => Math.round((performance.now() - began) * 100) / 100;
  try {
    const own = createKeptLogger(log, (line) => logs.push(line));
    const ctx = contextFor(controller.signal, own);
    const call = () => invoke({ handler, event, spec, ctx, limitMs: meta.timeoutMs + backstopMs });
    const given = runAs(`hook:${candidate.name}`, call, event.name);
    const effects = await withDeadline(given, meta.timeoutMs, () => late);
    return { ok: true, ms: elapsed(), effects, logs };
  } catch (thrown) {
    controller.abort(thrown);
    const problem = problemOf(thrown, candidate.realDir, candidate.handler);
    const error = sayProblem(problem, candidate.realDir);
    const { file, line } = problem;
    return { ok: false, ms: elapsed(), error, file, line, timedOut: thrown === late || undefined, logs };
  }
}
