/** Runs a hook for the bus: counts, logs and trips. */
import type {
  BusEvent,
  HandlerResult,
  HookCall,
  OnOptions,
  Outcome,
} from "../../../contract/index.ts";
import { backstopMs, beginBounded, Interrupted } from "../../../loader/bounded.ts";
import { EndlessLoopError } from "../../../loader/loop-guard.ts";
import { problemOf, sayProblem } from "../../../loader/problem.ts";
import { isGuarded } from "./candidate.ts";
import { roundMs } from "../record.ts";
import type { HookHostOptions } from "./settings.ts";
import { type HookSlot, type HookVersion, type IgnoredEffect, leave } from "./version.ts";
import { createHandlerContext } from "./handler-context.ts";
import { type Effects, invoke } from "./invoke.ts";

/** After so many failures in a row a hook is not called any more. */
const failuresBeforeTrip = 5;
const limitAfterBlockMs = 250;
/** How many different ignored effects are kept for a hook. */
const mostIgnored = 20;

interface RunnerParts {
  slot: Pick<HookSlot, "health" | "log">;
  version: HookVersion;
  around: HookHostOptions;
  /** The deadline of each call, in ms: the bus keeps it, aborts the signal and goes on. */
  timeoutMs: number;
}

/** What is registered on the bus: the handler, how its calls begin, and what happens with each outcome. */
export function createRunner({ slot, version, around, timeoutMs }: RunnerParts) {
  const { health, log } = slot;
  const { bus } = around;
  const { meta, handler, inFlight, candidate } = version;

  const limitMs = (): number =>
    health.blocked ? Math.min(limitAfterBlockMs, timeoutMs) : timeoutMs;

  /** From here on the version is in use. */
  function begin(begun: () => void, event: BusEvent): Promise<void> {
    inFlight.push(event);
    return beginBounded(begun, limitMs() + backstopMs);
  }

  function call(
    event: BusEvent,
    running: Pick<HookCall, "signal">,
  ): HandlerResult | Promise<HandlerResult> {
    if (health.tripped) leave(version, event);
    if (health.tripped && meta.failClosed)
      throw new Error("it failed too often in a row and is not called");
    if (health.tripped) return undefined;
    if (!inFlight.includes(event)) inFlight.push(event);
    version.loops.limitMs = limitMs();
    const apply = ({ ignored, changed, messages, result }: Effects): HandlerResult => {
      for (const message of ignored)
        if (countIgnored(health.ignored, event.name, message)) log.warn(message);
      Object.assign(event.context, changed);
      event.messages.push(...messages);
      return result;
    };
    const { principal } = event;
    const { signal } = running;
    const ctx = createHandlerContext(version, around, { signal, principal }, log);
    const returned = invoke(handler, event, ctx, bus.specs());
    if (!(returned instanceof Promise)) return apply(returned);
    return returned.then((effects) => (running.signal.aborted ? undefined : apply(effects)));
  }

  const settled: OnOptions["settled"] = ({ ok, ms, error, timedOut }: Outcome, event: BusEvent) => {
    // A tripped hook was not called.
    if (!leave(version, event)) return;
    if (!ok)
      return recordFailure({ slot, version, around }, error, {
        event: event.name,
        ms: roundMs(ms),
        timedOut,
      });
    Object.assign(health, { runs: health.runs + 1, failuresInARow: 0, blocked: false });
    health.lastRun = { at: Date.now(), event: event.name, ms: roundMs(ms), ok: true };
  };
  return {
    call,
    begin: isGuarded(candidate) ? begin : undefined,
    traced: version.traced,
    copies: true,
    settled,
  };
}

/** Counts what a handler asked for and does not get. Returns whether it is new. */
function countIgnored(ignored: IgnoredEffect[], event: string, message: string): boolean {
  const known = ignored.find((entry) => entry.event === event && entry.message === message);
  if (known) {
    known.count += 1;
    return false;
  }
  if (ignored.length === mostIgnored) ignored.shift();
  ignored.push({ event, message, count: 1 });
  return true;
}

/** Counts and logs a failure; trips the hook after too many. */
export function recordFailure(
  { slot: { health, log }, version, around }: Pick<RunnerParts, "slot" | "version" | "around">,
  thrown: unknown,
  { event, ms = 0, timedOut }: { event?: string; ms?: number; timedOut?: boolean } = {},
): void {
  const { name, realDir, handler } = version.candidate;
  const problem = problemOf(thrown, realDir, handler);
  const { message: error, file, line } = problem;
  const at = new Date().toISOString();
  health.runs++;
  health.failures++;
  const failures = ++health.failuresInARow;
  health.blocked ||= thrown instanceof Interrupted || thrown instanceof EndlessLoopError;
  health.tripped ||= failures >= failuresBeforeTrip;
  const resting = health.tripped;
  if (event) health.lastRun = { at: Date.now(), event, ms, ok: false, error };
  health.lastError = { at, ...problem, event, timedOut };
  const rests = resting
    ? `; after ${failures} failures in a row it is not called until it changes or is enabled`
    : "";
  log.error(
    { event, file, line, failures, err: thrown },
    `failed: ${sayProblem(problem, realDir)}${rests}`,
  );
  // A hook on hook:failed that fails itself would never come to an end.
  if (event !== "hook:failed")
    void around.bus.emit(
      "hook:failed",
      { hook: name, event: event ?? "", error, file, line, failures, resting },
      { principal: "owner" },
    );
}
