/** Percentiles of durations that are counted in buckets. */
import { TIME_BOUNDS_MS } from "portico/store";

/**
 * Returns the duration in milliseconds that a share (0.95) of the requests did not exceed, interpolated within its bucket; null
 * if no request is counted. Durations beyond the last bound count as that bound.
 */
export function percentile(times: readonly number[], share: number): number | null {
  const target = share * times.reduce((sum, count) => sum + count, 0);
  if (target === 0) return null;
  let below = 0;
  let lower = 0;
  for (const [bucket, upper] of TIME_BOUNDS_MS.entries()) {
    const count = times[bucket] ?? 0;
    if (below + count >= target)
      return Math.round(lower + ((upper - lower) * (target - below)) / count);
    below += count;
    lower = upper;
  }
  return lower;
}
