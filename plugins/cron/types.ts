/** The events of cron. Types only. */
declare module "portico" {
  interface Events {
    "cron:fired": CronFired;
    "cron:failed": CronFailed;
  }
}

export interface CronFired {
  jobId: string;
  name: string;
  runId: string;
  /** The slot, ISO 8601; for a run by hand the time of the call. */
  scheduledAt: string;
  firedAt: string;
  trigger: "schedule" | "manual";
  /** `systemEvent`, `agentTurn`, `hook`. */
  payload: string;
  eventId?: string;
  turnId?: string;
  /** What the job's payload carries for hooks. */
  context?: Record<string, unknown>;
}

/** Every run that did not succeed has one; a slot that was missed or skipped has not. */
export interface CronFailed {
  jobId: string;
  name: string;
  runId: string;
  /** The slot, ISO 8601; for a run by hand the time of the call. */
  scheduledAt: string;
  failedAt: string;
  /** `error`, `timeout`, `cancelled`, `interrupted`. */
  status: string;
  error: string;
  turnId?: string;
  /** In a row, this one included. */
  consecutiveErrors: number;
  /** The job has disabled itself by this failure. */
  disabled: boolean;
}
