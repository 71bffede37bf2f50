/** The types of the events of cron. */
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
  /** The slot, in ISO 8601; for a manual run, the time of the call. */
  scheduledAt: string;
  firedAt: string;
  trigger: "schedule" | "manual";
  /** The kind of the payload: `systemEvent`, `agentTurn` or `hook`. */
  payload: string;
  eventId?: string;
  turnId?: string;
  /** The context of a hook payload. */
  context?: Record<string, unknown>;
}

/** Emitted for every run that did not succeed, but not for a slot that was missed or skipped. */
export interface CronFailed {
  jobId: string;
  name: string;
  runId: string;
  /** The slot, in ISO 8601; for a manual run, the time of the call. */
  scheduledAt: string;
  failedAt: string;
  /** The status of the run: `error`, `timeout`, `cancelled` or `interrupted`. */
  status: string;
  error: string;
  turnId?: string;
  /** The number of consecutive failures, including this one. */
  consecutiveErrors: number;
  /** True if this failure disabled the job. */
  disabled: boolean;
}
