/** Buckets with fixed bounds for the times of requests, so that the counts of any minutes and gateways add up. */

/**
 * The longest time of each bucket, in milliseconds; one more bucket counts longer times. They contain the bounds of the
 * histograms of `/metrics`, with finer steps between 1 and 60 seconds, where most responses of models end. The columns of the
 * store are named after these bounds, so that other bounds need other columns.
 */
export const TIME_BOUNDS_MS = [
  10, 25, 50, 100, 250, 500, 1000, 1500, 2500, 3500, 5000, 7500, 10_000, 15_000, 20_000, 30_000,
  45_000, 60_000, 120_000,
] as const;

/** Returns the index of the bucket that counts a time. */
export function timeBucket(ms: number): number {
  const index = TIME_BOUNDS_MS.findIndex((bound) => ms <= bound);
  return index === -1 ? TIME_BOUNDS_MS.length : index;
}

/** Returns a count of 0 for each bucket. */
export function emptyTimes(): number[] {
  return new Array(TIME_BOUNDS_MS.length + 1).fill(0);
}

/** Adds the count of each bucket in `added` to that in `times`. */
export function addTimes(times: number[], added: readonly number[]): void {
  for (const [bucket, count] of added.entries()) times[bucket] = (times[bucket] ?? 0) + count;
}

/** Returns the columns of the buckets, in order: `duration_10`, …, `duration_longer`. */
export function timeColumns(name: "duration" | "first_byte"): string[] {
  return [...TIME_BOUNDS_MS, "longer"].map((bound) => `${name}_${bound}`);
}
