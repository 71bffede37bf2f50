/** Runs a hook for the bus: counts and logs its calls, and trips a hook that keeps failing. */
import type {
  BusEvent,
  HandlerResult,
  HookCall,
  OnOptions,
  Outcome,
} from "../../../contract/index.ts";
import { backstopMs, beginBounded, Interrupted } from "../../../loader/bounded.ts";
import { EndlessLoopError } from "../../../loader/loop-guard.ts";
import { toProblem, formatProblem } from "../../../loader/problem.ts";
import { isGuarded } from "./candidate.ts";
import { roundMs } from "../record.ts";
import type { HookHostOptions } from "./settings.ts";
import { type HookSlot, type HookVersion, type IgnoredEffect, endCall } from "./version.ts";
import { createHandlerContext } from "./handler-context.ts";
import { type Effects, invoke } from "./invoke.ts";

/** After this many consecutive failures a hook is no longer called. */
const failuresBeforeTrip = 5;
const limitAfterBlockMs = 250;
/** The number of different ignored effects that are remembered per hook. */
const maxIgnored = 20;

interface RunnerParts {
  slot: Pick<HookSlot, "health" | "log">;
  version: HookVersion;
  host: HookHostOptions;
  /** The deadline of each call, in ms. The bus enforces it: it aborts the signal and continues. */
  timeoutMs: number;
}

/** Creates the registration on the bus: the handler, the start of its calls, and the handling of each outcome. */
export function createRunner({ slot, version, host, timeoutMs }: RunnerParts) {
  const { health, log } = slot;
  const { bus } = host;
  const { meta, handler, inFlight, candidate } = version;

  const limitMs = (): number =>
    health.blocked ? Math.min(limitAfterBlockMs, timeoutMs) : timeoutMs;

  /** Starts a call with a time limit. The version is in use from here on. */
  function begin(start: () => void, event: BusEvent): Promise<void> {
    inFlight.push(event);
    return beginBounded(start, limitMs() + backstopMs);
  }

  function call(
    event: BusEvent,
    busCall: Pick<HookCall, "signal">,
  ): HandlerResult | Promise<HandlerResult> {
    if (health.tripped) endCall(version, event);
    if (health.tripped && meta.failClosed)
      throw new Error("it failed too many times in a row, so it is no longer called");
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
    const { signal } = busCall;
    const ctx = createHandlerContext(version, host, { signal, principal }, log);
    const returned = invoke(handler, event, ctx, bus.specs());
    if (!(returned instanceof Promise)) return apply(returned);
    return returned.then((effects) => (busCall.signal.aborted ? undefined : apply(effects)));
  }

  const settled: OnOptions["settled"] = ({ ok, ms, error, timedOut }: Outcome, event: BusEvent) => {
    // A tripped hook is not called, so there is nothing to count.
    if (!endCall(version, event)) return;
    if (!ok)
      return recordFailure({ slot, version, host }, error, {
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

/** Counts an effect that was ignored. Returns whether it is new. */
function countIgnored(ignored: IgnoredEffect[], event: string, message: string): boolean {
  const entry = ignored.find(
    (candidate) => candidate.event === event && candidate.message === message,
  );
  if (entry) {
    entry.count += 1;
    return false;
  }
  if (ignored.length === maxIgnored) ignored.shift();
  ignored.push({ event, message, count: 1 });
  return true;
}

/** Counts and logs a failure; trips the hook after too many. */
export function recordFailure(
  { slot: { health, log }, version, host }: Pick<RunnerParts, "slot" | "version" | "host">,
  thrown: unknown,
  { event, ms = 0, timedOut }: { event?: string; ms?: number; timedOut?: boolean } = {},
): void {
  const { name, realDir, handler } = version.candidate;
  const problem = toProblem(thrown, realDir, handler);
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
  const note = resting
    ? `; after ${failures} failures in a row it will not be called until you change or re-enable it`
    : "";
  log.error(
    { event, file, line, failures, err: thrown },
    `failed: ${formatProblem(problem, realDir)}${note}`,
  );
  // A failure in a hook on hook:failed must not emit the event again, which would never end.
  if (event !== "hook:failed")
    void host.bus.emit(
      "hook:failed",
      { hook: name, event: event ?? "", error, file, line, failures, resting },
      { principal: "owner" },
    );
}
