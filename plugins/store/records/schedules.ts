/** Rows that come due. Times are milliseconds since 1970; bodies, states and cursors anything JSON can hold. */

export interface NewSchedule {
  kind: string;
  id: string;
  name?: string;
  enabled: boolean;
  /** `null`: never. */
  nextAt: number | null;
  /** The definition. */
  body: unknown;
  /** Left as it is where absent. */
  state?: unknown;
  /** Left as it is where absent; `null` forgets it. */
  cursor?: unknown;
}

export interface Schedule {
  kind: string;
  id: string;
  name?: string;
  enabled: boolean;
  nextAt: number | null;
  body: unknown;
  state: unknown;
  rev: number;
  createdAt: number;
  updatedAt: number;
}

/** A slot that is taken for work which is done within it: `next` is the end of the lease. */
export interface ScheduleLease {
  /** Where this worker is known to be dead, `Store.abandon` makes the schedule due again. */
  worker: string;
  /** When the slot was due. */
  dueAt: number | null;
}

export interface ScheduleSlot {
  kind: string;
  id: string;
  expectedNext: number | null;
  next: number | null;
  /** Left as it is where absent. */
  state?: unknown;
  /** Left as it is where absent (a one-shot job is disabled by its own tick). */
  enabled?: boolean;
  /** Absent: the slot is not leased from then on. */
  lease?: ScheduleLease;
}

export interface ScheduleCommit {
  kind: string;
  id: string;
  expectedRev: number;
  next: number | null;
  state?: unknown;
  cursor?: unknown;
  enabled?: boolean;
  /** A renewed lease; absent: the slot is not leased from then on. */
  lease?: ScheduleLease;
}
