/** What a job is in the store, and how it is shown. */
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
  /** Who made it, and so whom it acts for. Jobs of the configuration and of older versions have none. */
  principal?: Principal;
  /** What `every` counts from; epoch ms. */
  anchorMs: number;
}

export interface JobState {
  /** The slot that `nextAt` stands for: `nextAt` is this plus the jitter. */
  slotAt?: number;
  lastRunAt?: number;
  lastStatus?: RunStatus;
  lastError?: string;
  lastDurationMs?: number;
  consecutiveErrors: number;
  /** The run in progress. */
  running?: { runId: string; itemId?: string; since: number };
  /** Why it was disabled by itself. */
  disabledReason?: string;
  fired: number;
  /** For a job of the configuration: its definition as it was read, to see a change. */
  configured?: string;
}

/** `missed`: the slot came while nothing ran; `skipped`: the previous run had not ended. */
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

export function toJob(row: Schedule): Job {
  const state = (row.state ?? {}) as Partial<JobState>;
  return { row, body: row.body as JobBody, state: { consecutiveErrors: 0, fired: 0, ...state } };
}

/**
 * Whom a job acts for: who made it. Of a job that an older version's agent made nobody knows who had it made, so it runs
 * without tools until it is created again.
 */
export function principalOfJob({ principal, source }: JobBody): Principal {
  return principal ?? (source === "agent" ? "outside" : "owner");
}

/** Where its runs take place where it names no session: among the sessions of the one whom it acts for. */
export function sessionOfJob({ row, body }: Pick<Job, "row" | "body">): string {
  const principal = principalOfJob(body);
  return principal === "owner" ? `cron:${row.id}` : `${principal}:cron:${row.id}`;
}

/** A number in [0, 1) that any gateway computes alike for one slot of one job. */
function share(id: string, slotAt: number): number {
  let hash = 2_166_136_261;
  for (const char of `${id}:${slotAt}`) hash = Math.imul(hash ^ char.charCodeAt(0), 16_777_619);
  return (hash >>> 0) / 4_294_967_296;
}

/** A date of a job, and when it is due with its jitter. */
export interface Slot {
  slotAt: number;
  nextAt: number;
}

/** The first slot after `after`. */
export function nextSlot(id: string, body: JobBody, after: number): Slot | undefined {
  const slotAt = nextDate(body.schedule, after, body.anchorMs);
  if (slotAt === undefined) return undefined;
  return { slotAt, nextAt: slotAt + Math.floor(share(id, slotAt) * (body.jitterMs ?? 0)) };
}

const GRACE = { share: 0.1, min: 1_000, max: 60_000 };

/**
 * How late a slot may be and still counts as on time: what was asked for, else a tenth of the time since the slot
 * before it (an `at`: since it was set), from 1 s to 60 s. So a restart of seconds does not swallow a daily job.
 */
export function graceOf({ body, row }: Job, slotAt: number): number {
  if (body.graceMs !== undefined) return body.graceMs;
  const interval = intervalAt({ body, row }, slotAt);
  return Math.min(GRACE.max, Math.max(GRACE.min, interval * GRACE.share));
}

/** The time from a slot to the next one; of a job that runs once, since it was set. */
function intervalAt({ body, row }: Pick<Job, "body" | "row">, slotAt: number): number {
  const { schedule } = body;
  if (schedule.kind === "every") return schedule.everyMs;
  if (schedule.kind === "at") return slotAt - row.updatedAt;
  return (nextDate(schedule, slotAt) ?? Number.POSITIVE_INFINITY) - slotAt;
}

/** A job as its routes send it; `dates` adds the next ones. */
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
      running: state.running !== undefined,
      runs: state.fired,
      disabledReason: state.disabledReason,
    },
    nextDates: dates > 0 ? upcoming(job, now, dates) : undefined,
  };
}

/** The slots to come, the one that is waiting first; none of a job that is disabled. */
function upcoming({ row, body, state }: Job, now: number, count: number): (string | null)[] {
  if (!row.enabled) return [];
  const from = state.slotAt !== undefined && state.slotAt > now ? state.slotAt - 1 : now;
  return previewDates(body.schedule, from, count, body.anchorMs).map(isoDate);
}

/** What the history keeps about a run. */
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

/** A run as the history shows it. */
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
