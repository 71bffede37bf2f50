/** Runs a hook for the bus: counts, logs, rests, and never lets a failure out of its own outcome. */
import type { Bus } from "../../bus.ts";
import { Interrupted } from "../../extensions/bounded.ts";
import { EndlessLoopError } from "../../extensions/loop-guard.ts";
import type { BusEvent, HandlerResult, HookContext } from "../../types.ts";
import { type Activation, backstopMs } from "./activation.ts";
import { type Effects, invoke } from "./invoke.ts";
import { type Problem, problemOf, sayProblem } from "../problem.ts";
import type { HookFailure, HookRun } from "../record.ts";

/** How a hook has been doing; `failuresInARow` and `resting` begin anew with each version. */
export interface Health {
  runs: number;
  failures: number;
  failuresInARow: number;
  resting: boolean;
  /** Its handler once had to be interrupted: it gets little time until it succeeds. */
  blocked: boolean;
  lastRun?: HookRun;
  lastError?: HookFailure;
}

export function newHealth(): Health {
  return { runs: 0, failures: 0, failuresInARow: 0, resting: false, blocked: false };
}

/** After so many failures in a row a hook is not called any more. */
export const failuresBeforeRest = 5;
const limitAfterBlockMs = 250;

export interface RunnerParts {
  activation: Activation;
  /** The deadline in force, in ms. */
  timeoutMs: number;
  health: Health;
  bus: Pick<Bus, "spec" | "emit">;
  contextFor(signal: AbortSignal): HookContext;
  /** Logs about the hook, into its own lines too. */
  log: HookContext["log"];
}

/** The handler that is registered on the bus. The bus keeps the deadline: it aborts the signal and goes on. */
export function createRunner(parts: RunnerParts) {
  const { activation, timeoutMs, health, bus, log } = parts;
  const bundled = activation.candidate.root.name === "bundled";
  const said = new Set<string>();
  const sayOnce = (line: string) => {
    if (said.has(line)) return;
    said.add(line);
    log.warn(line);
  };

  return (event: BusEvent, { signal }: { signal: AbortSignal }): HandlerResult | Promise<HandlerResult> => {
    if (health.resting) return undefined;
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
      activation.limitLoops(limitMs);
      given = invoke({
        handler: activation.handler,
        event,
        spec,
        ctx,
        ...(bundled ? {} : { limitMs: limitMs + backstopMs }),
      });
    } catch (thrown) {
      return fail(thrown);
    }
    if (!(given instanceof Promise)) return succeed(given);
    const work = untilAborted(given, signal).then(succeed, fail);
    const settled = work.catch(() => {}).finally(() => activation.inFlight.delete(settled));
    activation.inFlight.add(settled);
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

/** Counts and tells a failure; puts the hook to rest where it is one too many. */
export function recordFailure(parts: Omit<RunnerParts, "contextFor">, thrown: unknown, event?: string, ms = 0): void {
  const { activation, health, bus, log } = parts;
  const { candidate } = activation;
  const timedOut = (thrown as { name?: unknown } | null)?.name === "DeadlineError";
  const problem: Problem = timedOut
    ? { message: `still running after its deadline of ${parts.timeoutMs} ms`, file: candidate.handler }
    : problemOf(thrown, candidate.realDir, candidate.handler);
  const at = new Date().toISOString();
  health.runs++;
  health.failures++;
  health.failuresInARow++;
  if (thrown instanceof Interrupted || thrown instanceof EndlessLoopError) health.blocked = true;
  health.resting ||= health.failuresInARow >= failuresBeforeRest;
  if (event) health.lastRun = { at, event, ms, ok: false, error: problem.message };
  health.lastError = { at, ...problem, ...(event ? { event } : {}), ...(timedOut ? { timedOut } : {}) };
  const { file, line } = problem;
  const rests = health.resting
    ? `; it rests after ${health.failuresInARow} failures in a row until it changes or is enabled`
    : "";
  log.error(
    { event, file, line, failures: health.failuresInARow, err: thrown },
    `failed: ${sayProblem(problem, candidate.realDir)}${rests}`,
  );
  // A hook on hook:failed that fails itself would never come to an end.
  if (event === "hook:failed") return;
  const failed = {
    hook: candidate.name,
    event: event ?? "",
    error: problem.message,
    ...(file === undefined ? {} : { file }),
    ...(line === undefined ? {} : { line }),
    failures: health.failuresInARow,
    resting: health.resting,
  };
  bus.emit("hook:failed", failed).catch(() => {});
}

function elapsed(began: number): number {
  return Math.round((performance.now() - began) * 100) / 100;
}
