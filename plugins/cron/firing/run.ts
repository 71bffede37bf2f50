/** One firing of a job: its run, what it delivers, and the job's state after it. */
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

/** The same on every gateway and after every restart: what a slot starts has ids of the slot. */
export const slotKey = (id: string, slotAt: number): string =>
  `cron_${createHash("sha256").update(`${id} ${slotAt}`).digest("hex").slice(0, 20)}`;

/** A job that fires now, or is noted not to. Nothing is written here. */
export interface Firing {
  job: Job;
  /** Unique to it; its ids are made of it. */
  key: string;
  /** `running` where it fires. */
  status: RunStatus;
  /** Epoch ms. */
  at: number;
  data: RunData;
}

export interface Prepared {
  run: Run;
  delivery: PayloadDelivery;
  /** Why nothing can be delivered, now or later: the run fails. */
  failure?: PorticoError;
}

function delivered(
  ctx: PluginContext,
  { job, key, data }: Firing,
): Pick<Prepared, "delivery" | "failure"> {
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
    // Runs that queue up behind each other share a session: its lane keeps them in order.
    defaultSession: body.overlap === "queue" ? session : `${session}:${key.slice(5, 13)}`,
    timeoutMs: body.timeoutMs,
  };
  try {
    return { delivery: deliver(ctx, order) };
  } catch (error) {
    // A service that is away comes back: the slot is tried again.
    if (!isPorticoError(error) || error.status >= 500) throw error;
    return { delivery: { items: [] }, failure: error };
  }
}

export function prepare(ctx: PluginContext, firing: Firing): Prepared {
  const { job, key, status, at, data } = firing;
  const fires = status === "running";
  const { delivery, failure }: Omit<Prepared, "run"> = fires
    ? delivered(ctx, firing)
    : { delivery: { items: [] } };
  const { items, ...ids } = delivery;
  // A queued event is all that such a job promises.
  const isDone = fires && failure === undefined && job.body.payload.kind === "systemEvent";
  const run: Run = {
    id: `run_${key}`,
    owner: `${KIND}:${job.row.id}`,
    at,
    status: isDone ? "ok" : status,
    data: { ...data, ...ids },
    endedAt: isDone || !fires ? at : undefined,
    itemId: items[0]?.id,
  };
  return { run, delivery, failure };
}

/** `slotAt`: the slot that it waits for then. */
export function stateAfter(job: Job, run: Run, slotAt: number | undefined): JobState {
  const state: JobState = { ...job.state, lastStatus: run.status as RunStatus };
  if (slotAt === undefined) delete state.slotAt;
  else state.slotAt = slotAt;
  if (run.status === "missed" || run.status === "skipped") return state;
  state.fired++;
  state.lastRunAt = run.at;
  if (run.status === "running") {
    state.running = { runId: run.id, since: run.at, itemId: run.itemId };
    return state;
  }
  delete state.running;
  delete state.lastError;
  return { ...state, consecutiveErrors: 0, lastDurationMs: 0 };
}
