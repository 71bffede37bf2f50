/** The face `portico/metrics`: types for plugins that contribute metrics. */

declare module "portico" {
  interface Contributions {
    metric: MetricSource;
  }
}

/**
 * A source of metrics, called at each scrape. If it throws or takes longer than 5 s, the scrape omits it and reports that.
 */
export interface MetricSource {
  /** `[a-z][a-z0-9_]*`, for the log and `portico_metrics_source_up`. */
  name: string;
  collect(): readonly MetricFamily[] | Promise<readonly MetricFamily[]>;
}

export interface MetricFamily {
  /** The name by Prometheus' conventions: with its unit, and `_total` at the end of counters. */
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
