/** Functions that create metric families. */
import type { MetricFamily, MetricSample } from "portico/metrics";

type Sample = [value: number, labels?: Record<string, string>];

export const counter = (name: string, help: string, ...samples: Sample[]): MetricFamily => ({
  name,
  type: "counter",
  help,
  samples: samples.map(toSample),
});

export const gauge = (name: string, help: string, ...samples: Sample[]): MetricFamily => ({
  name,
  type: "gauge",
  help,
  samples: samples.map(toSample),
});

function toSample([value, labels]: Sample): MetricSample {
  return labels === undefined ? { value } : { value, labels };
}
