/** Prepares one firing of a job: its run, its delivery, and the job's next state. */
import { createHash } from "node:crypto";
import { isPorticoError, type PluginContext, type PorticoError } from "portico";
import type { PayloadDelivery } from "portico/schedules";
import type { Run } from "portico/store";
import {
  type Job,
  type JobState,
  KIND,
  principalOfJob,
  type RunData,
  type RunStatus,
  sessionOfJob,
} from "../job.ts";
import { deliver } from "./payload.ts";

/**
 * Returns the key of a slot, which is the same on every gateway and after every restart, so that a slot never starts
 * work twice.
 */
export const createSlotKey = (id: string, slotAt: number): string =>
  `cron_${createHash("sha256").update(`${id} ${slotAt}`).digest("hex").slice(0, 20)}`;

/** A job that fires now, or whose slot is recorded as missed or skipped. */
export interface Firing {
  job: Job;
  /** A unique key, from which the ids of the run and its items are derived. */
  key: string;
  /** `running` if the job fires. */
  status: RunStatus;
  /** Epoch ms. */
  at: number;
  data: RunData;
}

export interface PreparedRun {
  run: Run;
  delivery: PayloadDelivery;
  /** The reason for which the payload can never be delivered, so that the run fails. */
  failure?: PorticoError;
}

function deliverPayload(
  ctx: PluginContext,
  { job, key, data }: Firing,
): Pick<PreparedRun, "delivery" | "failure"> {
  const { body, row } = job;
  const session = sessionOfJob(job);
  const order = {
    payload: body.payload,
    source: "cron",
    principal: principalOfJob(body),
    key,
    metadata: {
      source: "cron",
      jobId: row.id,
      job: row.name,
      scheduledAt: new Date(data.slotAt).toISOString(),
    },
    // Runs that wait for each other share a session, whose lane keeps them in order.
    defaultSession: body.overlap === "queue" ? session : `${session}:${key.slice(5, 13)}`,
    timeoutMs: body.timeoutMs,
  };
  try {
    return { delivery: deliver(ctx, order) };
  } catch (error) {
    // A failure of a service is temporary, so the slot is retried.
    if (!isPorticoError(error) || error.status >= 500) throw error;
    return { delivery: { items: [] }, failure: error };
  }
}

export function prepareRun(ctx: PluginContext, firing: Firing): PreparedRun {
  const { job, key, status, at, data } = firing;
  const isFiring = status === "running";
  const { delivery, failure }: Omit<PreparedRun, "run"> = isFiring
    ? deliverPayload(ctx, firing)
    : { delivery: { items: [] } };
  const { items, ...ids } = delivery;
  // The run of a system event ends as soon as the event is queued.
  const isDone = isFiring && failure === undefined && job.body.payload.kind === "systemEvent";
  const run: Run = {
    id: `run_${key}`,
    owner: `${KIND}:${job.row.id}`,
    at,
    status: isDone ? "ok" : status,
    data: { ...data, ...ids },
    endedAt: isDone || !isFiring ? at : undefined,
    itemId: items[0]?.id,
  };
  return { run, delivery, failure };
}

/**
 * The number of runs in progress that the state of a job with `overlap: queue` keeps, because any number of them may wait.
 * Their turns end in the order in which they began, so the newest ones suffice.
 */
const MAX_QUEUED = 100;

/** Returns the job's state after a run has begun, or has ended at once. `slotAt` is the next slot for which the job waits. */
export function computeState(job: Job, run: Run, slotAt: number | undefined): JobState {
  const state: JobState = { ...job.state, lastStatus: run.status as RunStatus };
  if (slotAt === undefined) delete state.slotAt;
  else state.slotAt = slotAt;
  if (run.status === "missed" || run.status === "skipped") return state;
  state.fired++;
  state.lastRunAt = run.at;
  if (run.status === "running") {
    const started = { runId: run.id, since: run.at, itemId: run.itemId };
    const running = [...state.running, started];
    return {
      ...state,
      running: job.body.overlap === "queue" ? running.slice(-MAX_QUEUED) : running,
    };
  }
  delete state.lastError;
  return { ...state, consecutiveErrors: 0, lastDurationMs: 0 };
}
