import type { ScheduleEntry } from "./entries.ts";

interface FailingEntry extends Pick<ScheduleEntry, "row"> {
  state: { consecutiveErrors: number; lastError?: string | undefined };
}

/** Returns a notice for `portico status` for each entry whose last run failed. */
export function failureNotices(failing: readonly FailingEntry[]): string[] {
  return failing.map(({ row, state: { consecutiveErrors: times, lastError } }) => {
    const howOften = times === 1 ? "at its last run" : `${times} times in a row`;
    return `${row.name ?? row.id} failed ${howOften}: ${lastError ?? "no reason was given"}`;
  });
}
