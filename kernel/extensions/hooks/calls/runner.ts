/** Runs a hook for the bus: counts, logs, trips, and never lets a failure out of its own outcome. */
import type { Problem, Effects } from "../../../contract/records.ts";
import type { Bus } from "../../../bus.ts";
import { backstopMs, Interrupted } from "../../load/bounded.ts";
import { EndlessLoopError } from "../../load/loop-guard.ts";
import type { BusEvent, HandlerResult, HookContext } from "../../../types.ts";
import { problemOf, sayProblem } from "../../problem.ts";
import { invoke } from "./invoke.ts";
import { failuresBeforeTrip, type Health } from "./health.ts";
import type { HookVersion } from "../version.ts";

const limitAfterBlockMs = 250;

export interface RunnerParts {
  version: HookVersion;
  /** The deadline of each call, in ms. */
  timeoutMs: number;
  health: Health;
  bus: Pick<Bus, "spec" | "emit">;
  contextFor(signal: AbortSignal): HookContext;
  /** Logs about the hook, into its own lines too. */
  log: HookContext["log"];
}

/** The handler that is registered on the bus. The bus keeps the deadline: it aborts the signal and goes on. */
export function createRunner(parts: RunnerParts) {
  const { version, timeoutMs, health, bus, log } = parts;
  const bundled = version.candidate.root.name === "bundled";
  const said = new Set<string>();
  const sayOnce = (line: string) => {
    if (said.has(line)) return;
    said.add(line);
    log.warn(line);
  };

  return (event: BusEvent, { signal }: { signal: AbortSignal }): HandlerResult | Promise<HandlerResult> => {
    if (health.tripped && version.meta.failClosed) throw new Error("it failed too often in a row and is not called");
    if (health.tripped) return undefined;
    const began = performance.now();
    const spec = bus.spec(event.name);
    const limitMs = health.blocked ? Math.min(limitAfterBlockMs, timeoutMs) : timeoutMs;

    const succeed = (effects: Effects): HandlerResult => {
      if (signal.aborted) return undefined;
      for (const line of effects.ignored) sayOnce(line);
      Object.assign(event.context, effects.changed);
      event.messages.push(...effects.messages);
      Object.assign(health, { runs: health.runs + 1, failuresInARow: 0, blocked: false });
      health.lastRun = { at: new Date().toISOString(), event: event.name, ms: elapsed(began), ok: true };
      return effects.result;
    };
    const fail = (thrown: unknown): never => {
      recordFailure(parts, thrown, event.name, elapsed(began));
      throw thrown;
    };

    let given: Effects | Promise<Effects>;
    try {
      const ctx = parts.contextFor(signal);
      version.loops.limitMs = limitMs;
      const within = bundled ? undefined : limitMs + backstopMs;
      given = invoke({ handler: version.handler, event, spec, ctx, limitMs: within });
    } catch (thrown) {
      return fail(thrown);
    }
    if (!(given instanceof Promise)) return succeed(given);
    const work = untilAborted(given, signal).then(succeed, fail);
    const settled = work.catch(() => {}).finally(() => version.inFlight.delete(settled));
    version.inFlight.add(settled);
    given.catch((late: unknown) => {
      if (signal.aborted) log.debug({ err: late }, "rejected after its deadline; nobody was waiting any more");
    });
    return work;
  };
}

/** The promise's result, or the signal's reason when that comes first. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const aborted = () => reject(signal.reason);
    signal.addEventListener("abort", aborted, { once: true });
    const done = () => signal.removeEventListener("abort", aborted);
    work.then(resolve, reject).then(done, done);
  });
}

/** Counts and tells a failure; trips the hook where it is one too many. */
export function recordFailure(parts: Omit<RunnerParts, "contextFor">, thrown: unknown, event?: string, ms = 0): void {
  const { health, bus, log } = parts;
  const { candidate } = parts.version;
  const timedOut = (thrown as { name?: unknown } | null)?.name === "DeadlineError";
  const problem: Problem = timedOut
    ? { message: `still running after its deadline of ${parts.timeoutMs} ms`, file: candidate.handler }
    : problemOf(thrown, candidate.realDir, candidate.handler);
  const at = new Date().toISOString();
  health.runs++;
  health.failures++;
  health.failuresInARow++;
  if (thrown instanceof Interrupted || thrown instanceof EndlessLoopError) health.blocked = true;
  health.tripped ||= health.failuresInARow >= failuresBeforeTrip;
  if (event) health.lastRun = { at, event, ms, ok: false, error: problem.message };
  health.lastError = { at, ...problem, event, timedOut: timedOut || undefined };
  const { file, line } = problem;
  const rests = health.tripped
    ? `; it rests after ${health.failuresInARow} failures in a row until it changes or is enabled`
    : "";
  log.error(
    { event, file, line, failures: health.failuresInARow, err: thrown },
    `failed: ${sayProblem(problem, candidate.realDir)}${rests}`,
  );
  // A hook on hook:failed that fails itself would never come to an end.
  if (event === "hook:failed") return;
  const { failuresInARow: failures, tripped: resting } = health;
  const failed = { hook: candidate.name, event: event ?? "", error: problem.message, file, line, failures, resting };
  void bus.emit("hook:failed", failed);
}

function elapsed(began: number): number {
  return Math.round((performance.now() - began) * 100) / 100;
}
