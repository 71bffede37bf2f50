/** One scrape: all sources side by side, each with a deadline, so that a sick one does not hide the others. */
import type { Logger } from "portico";
import type { MetricFamily, MetricSource } from "portico/metrics";
import { render } from "./exposition.ts";
import { gauge } from "./families.ts";

const DEADLINE_MS = 5_000;

export async function collectAll(
  sources: readonly MetricSource[],
  log: Logger,
): Promise<MetricFamily[]> {
  const parts = await Promise.all(sources.map((source) => collect(source, log)));
  const ups = parts.map(({ name, isWhole }): [number, Record<string, string>] => [
    isWhole ? 1 : 0,
    { source: name },
  ]);
  const families = parts.flatMap((part) => part.families);
  return [
    ...families,
    gauge("portico_metrics_source_up", "0 if a source of metrics failed, otherwise 1.", ...ups),
  ];
}

interface Part {
  name: string;
  families: readonly MetricFamily[];
  /** False where the source failed, or gave what cannot be written. */
  isWhole: boolean;
}

async function collect(source: MetricSource, log: Logger): Promise<Part> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${DEADLINE_MS} ms`)), DEADLINE_MS);
  });
  try {
    const families = await Promise.race([(async () => source.collect())(), late]);
    render(families); // throws for what cannot be written, which would take the others along
    return { name: source.name, families, isWhole: true };
  } catch (error) {
    log.warn({ source: source.name, err: error }, "a source of metrics failed");
    return { name: source.name, families: [], isWhole: false };
  } finally {
    clearTimeout(timer);
  }
}
