/** Schedules of jobs and polls. Times are milliseconds since 1970; bodies, states and cursors are any JSON. */

export interface NewSchedule {
  kind: string;
  id: string;
  name?: string;
  enabled: boolean;
  /** When it is due next; `null` means never. */
  nextAt: number | null;
  /** The definition. */
  body: unknown;
  /** Unchanged if absent. */
  state?: unknown;
  /** Unchanged if absent; `null` removes it. */
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

/** The lease of a slot whose work is done within it. The lease ends at `next`. */
export interface ScheduleLease {
  /** The worker that holds the lease. If it dies, `Store.abandon` makes the schedule due again. */
  worker: string;
  /** When the slot was due. */
  dueAt: number | null;
}

export interface ScheduleSlot {
  kind: string;
  id: string;
  expectedNext: number | null;
  next: number | null;
  /** Unchanged if absent. */
  state?: unknown;
  /** Unchanged if absent. The tick of a one-shot job disables it. */
  enabled?: boolean;
  /** If absent, the slot is not leased from then on. */
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
  /** The renewed lease. If absent, the slot is not leased from then on. */
  lease?: ScheduleLease;
}
