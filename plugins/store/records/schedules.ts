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

export interface ScheduleSlot {
  kind: string;
  id: string;
  expectedNext: number | null;
  next: number | null;
  /** Left as it is where absent. */
  state?: unknown;
  /** Left as it is where absent (a one-shot job is disabled by its own tick). */
  enabled?: boolean;
}

export interface ScheduleCommit {
  kind: string;
  id: string;
  expectedRev: number;
  next: number | null;
  state?: unknown;
  cursor?: unknown;
  enabled?: boolean;
}
