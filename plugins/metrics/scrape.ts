/** Collects all sources in parallel, each with a deadline, so that a failing source does not hide the others. */
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
  const ups = parts.map(({ name, isOk }): [number, Record<string, string>] => [
    isOk ? 1 : 0,
    { source: name },
  ]);
  const families = parts.flatMap((part) => part.families);
  return [
    ...families,
    gauge("portico_metrics_source_up", "0 if a source of metrics failed, otherwise 1.", ...ups),
  ];
}

interface SourceResult {
  name: string;
  families: readonly MetricFamily[];
  /** False if the source failed, or if its metrics cannot be rendered. */
  isOk: boolean;
}

async function collect(source: MetricSource, log: Logger): Promise<SourceResult> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${DEADLINE_MS} ms`)), DEADLINE_MS);
  });
  try {
    const families = await Promise.race([(async () => source.collect())(), timeout]);
    render(families); // throws here if the metrics are invalid, since that would fail the whole scrape later
    return { name: source.name, families, isOk: true };
  } catch (error) {
    log.warn({ source: source.name, err: error }, "a source of metrics failed");
    return { name: source.name, families: [], isOk: false };
  } finally {
    clearTimeout(timer);
  }
}
