/** Merges a scrape over all workers: counts are added, and of a state or an average the highest value is shown. */
import type { Workers } from "portico";
import type { MetricFamily, MetricSample } from "portico/metrics";

const TOPIC = "metrics";

/** Gauges that are added, because each worker has its own value. */
const SUMMED = /_(in_flight|queued|bytes)$/;
/** Gauges that match `SUMMED` but have a common value for all workers. */
const COMMON = /_store_bytes$/;

/** Provides this worker's metrics to scrapes of other workers. */
export function serveFamilies(workers: Workers, collect: () => Promise<readonly MetricFamily[]>) {
  return workers.on(TOPIC, collect);
}

export async function collectFromWorkers(
  workers: Workers,
  own: readonly MetricFamily[],
): Promise<MetricFamily[]> {
  const others = await workers.askAll<readonly MetricFamily[]>(TOPIC);
  return mergeFamilies([own, ...others]);
}

function mergeFamilies(all: readonly (readonly MetricFamily[])[]): MetricFamily[] {
  const families = new Map<string, { family: MetricFamily; samples: Map<string, MetricSample> }>();
  for (const family of all.flat()) {
    const merged = families.get(family.name) ?? {
      family,
      samples: new Map<string, MetricSample>(),
    };
    families.set(family.name, merged);
    const isSummed =
      family.type !== "gauge" || (SUMMED.test(family.name) && !COMMON.test(family.name));
    for (const sample of family.samples) {
      const key = JSON.stringify([sample.suffix, Object.entries(sample.labels ?? {}).sort()]);
      const previous = merged.samples.get(key)?.value;
      merged.samples.set(key, { ...sample, value: mergeValues(previous, sample.value, isSummed) });
    }
  }
  return [...families.values()].map(({ family, samples }) => ({
    ...family,
    samples: [...samples.values()],
  }));
}

function mergeValues(previous: number | undefined, value: number, isSummed: boolean): number {
  if (previous === undefined) return value;
  return isSummed ? previous + value : Math.max(previous, value);
}
