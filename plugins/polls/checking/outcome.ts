/** Computes the results of a check: the state of the poll, the time of the next check, and the data for the history. */
import type { PayloadSpec, ScheduleTools } from "portico/schedules";
import type { CheckData, CheckStatus, Poll, PollState } from "../poll.ts";
import { CheckFailed } from "../sources/source.ts";
import { backoffMs, addJitter } from "./backoff.ts";
import type { SourceCheck } from "./check.ts";

/** Shorter intervals get no jitter, because users expect them to be exact. */
const JITTER_FROM_MS = 60_000;

/** The outcome of a check: the result, or the reason for its failure. Times are epoch ms. */
export interface Outcome {
  sourceCheck?: SourceCheck;
  /** The payload to deliver, if there is news. */
  payload?: PayloadSpec;
  failure?: Error;
  startedAt: number;
  endedAt: number;
}

export const statusOf = ({ sourceCheck }: Outcome): CheckStatus => sourceCheck?.status ?? "error";

export function computeState({ state }: Poll, outcome: Outcome): PollState {
  const { leased: _, lastError: __, ...previousState } = state;
  const { sourceCheck, failure, startedAt, endedAt } = outcome;
  const status = statusOf(outcome);
  const nextState: PollState = {
    ...previousState,
    lastCheckAt: startedAt,
    lastStatus: status,
    lastDurationMs: endedAt - startedAt,
    checks: previousState.checks + 1,
  };
  if (sourceCheck === undefined)
    return {
      ...nextState,
      lastError: failure?.message,
      consecutiveErrors: previousState.consecutiveErrors + 1,
    };
  const { validators, hash } = sourceCheck.cursor ?? {};
  nextState.consecutiveErrors = 0;
  nextState.cursor = {
    items: sourceCheck.listed ?? previousState.cursor?.items,
    etag: validators?.etag,
    lastModified: validators?.lastModified,
    hash,
  };
  if (status === "changed") {
    nextState.lastChangeAt = endedAt;
    nextState.changes++;
  }
  return nextState;
}

/** Returns the time of the next check in epoch ms; null if there is none. */
export function computeNextCheckAt(
  tools: ScheduleTools,
  { body }: Poll,
  errors: number,
  { failure, endedAt }: Outcome,
): number | null {
  const regular = tools.next(body.schedule, endedAt, body.anchorMs);
  const interval =
    body.schedule.kind === "every" ? body.schedule.everyMs : (regular ?? endedAt) - endedAt;
  if (failure !== undefined) {
    const { status, retryAfterMs } = failure instanceof CheckFailed ? failure : {};
    return (
      endedAt + backoffMs({ errors, intervalMs: interval, status, retryAfterMs }, Math.random())
    );
  }
  if (body.schedule.kind !== "every") return regular ?? null;
  return endedAt + (interval >= JITTER_FROM_MS ? addJitter(interval, Math.random()) : interval);
}

export function dataOf(
  poll: Poll,
  trigger: CheckData["trigger"],
  { sourceCheck, failure }: Outcome,
): CheckData {
  return {
    pollId: poll.row.id,
    trigger,
    count: sourceCheck?.news.length ?? 0,
    bytes: sourceCheck?.bytes,
    items: sourceCheck?.listed,
    httpStatus:
      sourceCheck?.httpStatus ?? (failure instanceof CheckFailed ? failure.status : undefined),
    error: failure?.message,
  };
}
