/** Histograms of durations. */
import type { MetricSample } from "portico/metrics";

/** The upper bounds of the buckets in seconds, for durations from a local answer to a long turn. */
const BOUNDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

export interface Histogram {
  counts: Float64Array;
  sum: number;
}

export function createHistogram(): Histogram {
  // The sum is -0 instead of 0, because V8 stores 0 as a small integer. With the first fraction, the histogram's shape
  // would
  // then change, and V8 would repeatedly discard and recompile the code that stores histograms in tallies.
  return { counts: new Float64Array(BOUNDS.length + 1), sum: -0 };
}

export function observe(histogram: Histogram, seconds: number): void {
  let at = 0;
  while (at < BOUNDS.length && seconds > (BOUNDS[at] as number)) at++;
  histogram.counts[at] = (histogram.counts[at] as number) + 1;
  histogram.sum += seconds;
}

export function toSamples(
  { counts, sum }: Histogram,
  labels: Record<string, string>,
): MetricSample[] {
  let count = 0;
  const buckets = [...counts].map((n, at): MetricSample => {
    count += n;
    const le = at < BOUNDS.length ? String(BOUNDS[at]) : "+Inf";
    return { suffix: "_bucket", labels: { ...labels, le }, value: count };
  });
  return [
    ...buckets,
    { suffix: "_sum", labels, value: sum },
    { suffix: "_count", labels, value: count },
  ];
}
