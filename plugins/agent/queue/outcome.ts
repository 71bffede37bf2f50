/** Decides what happens to a turn whose attempt failed. */
import type { FailedAttempt, TracedStep } from "portico/agent";
import { Stopped } from "portico/schedules";
import type { ClaimOutcome, WorkItem } from "portico/store";
import type { TurnBody } from "../turns/turn-body.ts";

interface FailedRun {
  now: number;
  retryDelayMs: number;
  trace: TracedStep[];
  /** The attempts before this one. */
  failedAttempts: readonly FailedAttempt[];
}

/** Returns whether the turn is retried, dead or cancelled. */
export function outcomeOf(
  item: WorkItem<TurnBody>,
  reason: unknown,
  error: { code: string; message: string },
  { now, retryDelayMs, trace, failedAttempts }: FailedRun,
): ClaimOutcome {
  const result = { trace, failedAttempts };
  if (reason instanceof Stopped) {
    if (reason.why === "cancelled") return { state: "cancelled", error, result };
    // After a shutdown, no client waits for the chat completion any more.
    if (item.body.chat) return { state: "cancelled", error, result };
    return { state: "retry", at: now, error, interrupted: true };
  }
  if (!isTransient(reason) || item.failures + 1 >= item.maxAttempts)
    return { state: "dead", error, result };
  const { headers, retryAfterMs } = reason as {
    headers?: Record<string, string>;
    retryAfterMs?: number;
  };
  const requestedPause = retryAfterMs ?? Number(headers?.["retry-after"] ?? 0) * 1000;
  const delay = retryDelayMs * 4 ** item.failures * (0.8 + Math.random() * 0.4);
  return {
    state: "retry",
    at: now + Math.max(Math.min(delay, 600_000), Math.min(requestedPause || 0, 600_000)),
    error,
  };
}

const FINAL_CODES = new Set<unknown>([
  "timeout",
  "attempts_exhausted",
  "upstream_auth",
  "storage_full",
]);

/** Returns true if another attempt may succeed: the request itself was not refused, and the turn did not time out. */
function isTransient(reason: unknown): boolean {
  const { status, code } = reason as { status?: unknown; code?: unknown };
  if (FINAL_CODES.has(code)) return false;
  return typeof status !== "number" || status >= 500 || status === 429 || status === 408;
}
