/** One scrape over all workers: what they count is summed, and of a state or an average the highest is shown. */
import type { Workers } from "portico";
import type { MetricFamily, MetricSample } from "portico/metrics";

const TOPIC = "metrics";

/** Gauges of what each worker has for itself. */
const SUMMED = /_(in_flight|queued|bytes)$/;
/** … and of what all of them have together. */
const COMMON = /_store_bytes$/;

/** Has a scrape of another worker include this one. */
export function offerFamilies(workers: Workers, collect: () => Promise<readonly MetricFamily[]>) {
  return workers.on(TOPIC, collect);
}

export async function familiesOfAll(
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
      const before = merged.samples.get(key)?.value;
      merged.samples.set(key, { ...sample, value: joined(before, sample.value, isSummed) });
    }
  }
  return [...families.values()].map(({ family, samples }) => ({
    ...family,
    samples: [...samples.values()],
  }));
}

function joined(before: number | undefined, value: number, isSummed: boolean): number {
  if (before === undefined) return value;
  return isSummed ? before + value : Math.max(before, value);
}
