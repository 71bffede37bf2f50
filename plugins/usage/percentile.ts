/** Percentiles of times that were counted in buckets. */
import { TIME_BOUNDS_MS } from "portico/store";

/**
 * The time in milliseconds that a share (0.95) of the requests did not exceed, taken as evenly spread within its bucket; null
 * where no request is counted. Of what is longer than the longest bound, only that bound is known.
 */
export function percentile(times: readonly number[], share: number): number | null {
  const wanted = share * times.reduce((sum, count) => sum + count, 0);
  if (wanted === 0) return null;
  let below = 0;
  let lower = 0;
  for (const [bucket, upper] of TIME_BOUNDS_MS.entries()) {
    const count = times[bucket] ?? 0;
    if (below + count >= wanted)
      return Math.round(lower + ((upper - lower) * (wanted - below)) / count);
    below += count;
    lower = upper;
  }
  return lower;
}
