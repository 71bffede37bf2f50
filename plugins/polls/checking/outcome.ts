/** What becomes of a poll after a check: its state, when it is looked at next, what the history keeps. */
import type { PayloadSpec, ScheduleTools } from "portico/schedules";
import type { CheckData, CheckStatus, Poll, PollState } from "../poll.ts";
import { CheckFailed } from "../sources/source.ts";
import { backoffMs, addJitter } from "./backoff.ts";
import type { Checked } from "./check.ts";

/** Short intervals are meant exactly. */
const JITTER_FROM_MS = 60_000;

/** One look at a source: what was found, or why it could not be had. Times are epoch ms. */
export interface Outcome {
  checked?: Checked;
  /** What is done with news, where there are some. */
  payload?: PayloadSpec;
  failure?: Error;
  startedAt: number;
  endedAt: number;
}

export const statusOf = ({ checked }: Outcome): CheckStatus => checked?.status ?? "error";

export function stateAfter({ state }: Poll, outcome: Outcome): PollState {
  const { leased: _, lastError: __, ...before } = state;
  const { checked, failure, startedAt, endedAt } = outcome;
  const status = statusOf(outcome);
  const after: PollState = {
    ...before,
    lastCheckAt: startedAt,
    lastStatus: status,
    lastDurationMs: endedAt - startedAt,
    checks: before.checks + 1,
  };
  if (checked === undefined)
    return {
      ...after,
      lastError: failure?.message,
      consecutiveErrors: before.consecutiveErrors + 1,
    };
  const { validators, hash } = checked.cursor ?? {};
  after.consecutiveErrors = 0;
  after.cursor = {
    items: checked.listed ?? before.cursor?.items,
    etag: validators?.etag,
    lastModified: validators?.lastModified,
    hash,
  };
  if (status === "changed") {
    after.lastChangeAt = endedAt;
    after.changes++;
  }
  return after;
}

/** When it is looked at next; `null`: never again. */
export function nextCheckAt(
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
  { checked, failure }: Outcome,
): CheckData {
  return {
    pollId: poll.row.id,
    trigger,
    count: checked?.news.length ?? 0,
    bytes: checked?.bytes,
    items: checked?.listed,
    httpStatus:
      checked?.httpStatus ?? (failure instanceof CheckFailed ? failure.status : undefined),
    error: failure?.message,
  };
}
