/** The stored form of a job, and its form in responses. */
import { viewPayload } from "portico/deliveries";
import { isoDate, type PayloadSpec, type ScheduleSpec } from "portico/schedules";
import type { PluginContext, Principal } from "portico";
import type { Run, Schedule } from "portico/store";
import { nextDate, previewDates } from "portico/schedules";

export const KIND = "cron";

export interface JobBody {
  description?: string;
  schedule: ScheduleSpec;
  payload: PayloadSpec;
  missed: "skip" | "run-once";
  overlap: "skip" | "queue";
  timeoutMs?: number;
  graceMs?: number;
  jitterMs?: number;
  maxErrors?: number;
  deleteAfterRun?: boolean;
  source: "api" | "config" | "agent";
  /**
   * The principal that created the job, on whose behalf it acts. Jobs of the configuration and of older versions have
   * none.
   */
  principal?: Principal;
  /** The time from which `every` counts; epoch ms. */
  anchorMs: number;
}

export interface JobState {
  /** The date of the next slot. `nextAt` is this date plus the jitter. */
  slotAt?: number;
  lastRunAt?: number;
  lastStatus?: RunStatus;
  lastError?: string;
  lastDurationMs?: number;
  consecutiveErrors: number;
  /** The runs in progress, oldest first: manual runs start beside a scheduled one, and `overlap: queue` lets runs wait. */
  running: RunningRun[];
  /** The reason for which failures disabled the job. */
  disabledReason?: string;
  fired: number;
  /** For a job of the configuration: its definition as JSON, which reveals changes. */
  configured?: string;
}

/** A run in progress. `itemId` is the queue item of its turn; the run of a hook has none. */
export interface RunningRun {
  runId: string;
  itemId?: string;
  /** Epoch ms. */
  since: number;
}

export const NEW_STATE: JobState = { consecutiveErrors: 0, running: [], fired: 0 };

/** The status of a run. `missed`: no gateway ran at the slot; `skipped`: the previous run was still in progress. */
export type RunStatus =
  | "running"
  | "ok"
  | "error"
  | "timeout"
  | "cancelled"
  | "interrupted"
  | "missed"
  | "skipped";

export interface Job {
  row: Schedule;
  body: JobBody;
  state: JobState;
}

/** Version 0.1.0 stored the newest run in progress only. */
type StoredState = Partial<Omit<JobState, "running">> & { running?: RunningRun | RunningRun[] };

export function toJob(row: Schedule): Job {
  const { running = [], ...state } = (row.state ?? {}) as StoredState;
  const body = row.body as JobBody;
  return { row, body, state: { ...NEW_STATE, ...state, running: [running].flat() } };
}

/**
 * Returns the principal on whose behalf a job acts, which is its creator. The creator of a job that the agent of an older
 * version added is unknown, so the job runs without tools until it is created again.
 */
export function principalOfJob({ principal, source }: JobBody): Principal {
  return principal ?? (source === "agent" ? "outside" : "owner");
}

/** Returns the default session of a job's runs, which belongs to the principal on whose behalf the job acts. */
export function sessionOfJob({ row, body }: Pick<Job, "row" | "body">): string {
  const principal = principalOfJob(body);
  return principal === "owner" ? `cron:${row.id}` : `${principal}:cron:${row.id}`;
}

/** Returns a number in [0, 1) that every gateway computes alike for a slot of a job. */
function computeJitterShare(id: string, slotAt: number): number {
  let hash = 2_166_136_261;
  for (const char of `${id}:${slotAt}`) hash = Math.imul(hash ^ char.charCodeAt(0), 16_777_619);
  return (hash >>> 0) / 4_294_967_296;
}

/** A date of a job, and the time at which it is due, including the jitter. Epoch ms. */
export interface Slot {
  slotAt: number;
  nextAt: number;
}

/** Returns the first slot after `after`; undefined if there is none. */
export function nextSlot(id: string, body: JobBody, after: number): Slot | undefined {
  const slotAt = nextDate(body.schedule, after, body.anchorMs);
  return slotAt === undefined ? undefined : { slotAt, nextAt: addJitter(id, body, slotAt) };
}

const addJitter = (id: string, { jitterMs = 0 }: JobBody, slotAt: number): number =>
  slotAt + Math.floor(computeJitterShare(id, slotAt) * jitterMs);

/**
 * Returns when the slot for which a job waits is due after a change to `body` that keeps the dates. A changed jitter moves
 * that slot at once, except one that is due already, which counts as missed or not by the time at which it was due.
 */
export function dueTimeAfterChange(
  { row, body: before, state: { slotAt } }: Job,
  body: JobBody,
  now: number,
): number | null {
  const { id, nextAt } = row;
  const isSameJitter = (before.jitterMs ?? 0) === (body.jitterMs ?? 0);
  if (isSameJitter || slotAt === undefined || nextAt === null || nextAt <= now) return nextAt;
  return Math.max(now, addJitter(id, body, slotAt));
}

const GRACE = { share: 0.1, min: 1_000, max: 60_000 };

/**
 * Returns how late a slot may fire before it counts as missed, in ms: the configured value, else a tenth of the interval
 * that begins at the slot (for `at`: of the time from the job's last change to the slot), from 1 s to 60 s. A restart of
 * seconds thus does not skip a daily job.
 */
export function graceOf({ body, row }: Job, slotAt: number): number {
  if (body.graceMs !== undefined) return body.graceMs;
  const interval = intervalAt({ body, row }, slotAt);
  return Math.min(GRACE.max, Math.max(GRACE.min, interval * GRACE.share));
}

/**
 * Returns the time from a slot to the next one; for a job that runs once, the time from its last change to the slot.
 */
function intervalAt({ body, row }: Pick<Job, "body" | "row">, slotAt: number): number {
  const { schedule } = body;
  if (schedule.kind === "every") return schedule.everyMs;
  if (schedule.kind === "at") return slotAt - row.updatedAt;
  return (nextDate(schedule, slotAt) ?? Number.POSITIVE_INFINITY) - slotAt;
}

/** Converts a job for responses. `dates` is the number of next dates to include. */
export function viewJob(
  ctx: Pick<PluginContext, "find">,
  job: Job,
  now: number,
  dates = 0,
): Record<string, unknown> {
  const { row, body, state } = job;
  const { anchorMs: _, ...definition } = body;
  return {
    id: row.id,
    name: row.name ?? row.id,
    status: row.enabled ? "enabled" : "disabled",
    ...definition,
    principal: principalOfJob(body),
    payload: viewPayload(ctx, body.payload),
    createdAt: isoDate(row.createdAt),
    updatedAt: isoDate(row.updatedAt),
    state: {
      nextRunAt: row.enabled ? isoDate(row.nextAt) : null,
      lastRunAt: isoDate(state.lastRunAt),
      lastStatus: state.lastStatus ?? null,
      lastError: state.lastError ?? null,
      lastDurationMs: state.lastDurationMs ?? null,
      consecutiveErrors: state.consecutiveErrors,
      running: state.running.length > 0,
      runs: state.fired,
      disabledReason: state.disabledReason,
    },
    nextDates: dates > 0 ? listUpcomingDates(job, now, dates) : undefined,
  };
}

/** Returns the next dates, beginning with the waiting slot; none for a disabled job. */
function listUpcomingDates(
  { row, body, state }: Job,
  now: number,
  count: number,
): (string | null)[] {
  if (!row.enabled) return [];
  const from = state.slotAt !== undefined && state.slotAt > now ? state.slotAt - 1 : now;
  return previewDates(body.schedule, from, count, body.anchorMs).map(isoDate);
}

/** The data of a run in the history. */
export interface RunData {
  jobId: string;
  trigger: "schedule" | "manual";
  slotAt: number;
  payload: string;
  reason?: string;
  error?: string;
  result?: string;
  eventId?: string;
  turnId?: string;
  sessionId?: string;
}

/** Converts a run for responses. */
export function viewRun(run: Run, { body: { schedule } }: Job): Record<string, unknown> {
  const { slotAt, ...data } = run.data as RunData;
  return {
    id: run.id,
    status: run.status,
    scheduledAt: isoDate(slotAt),
    startedAt: isoDate(run.at),
    endedAt: isoDate(run.endedAt),
    durationMs: run.endedAt === undefined ? null : run.endedAt - run.at,
    timezone: schedule.kind === "every" ? undefined : schedule.tz,
    ...data,
  };
}
