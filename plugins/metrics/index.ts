/** What the metrics plugin shares with others. Types only: nobody imports this file at run time. */

declare module "portico" {
  interface Contributions {
    metric: MetricSource;
  }
}

/** Asked at each scrape. One that throws or takes longer than 5 s is left out of that scrape, and said to be. */
export interface MetricSource {
  /** `[a-z][a-z0-9_]*`, for the log and `portico_metrics_source_up`. */
  name: string;
  collect(): readonly MetricFamily[] | Promise<readonly MetricFamily[]>;
}

export interface MetricFamily {
  /** As Prometheus wants it: with its unit, counters ending in `_total`. */
  name: string;
  type: "counter" | "gauge" | "histogram";
  help: string;
  samples: readonly MetricSample[];
}

export interface MetricSample {
  labels?: Readonly<Record<string, string>>;
  value: number;
  /** `_bucket`, `_sum` or `_count` of a histogram. */
  suffix?: string;
}
