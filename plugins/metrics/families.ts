/** Short ways to write families. */
import type { MetricFamily, MetricSample } from "portico/metrics";

type Sample = [value: number, labels?: Record<string, string>];

export const counter = (name: string, help: string, ...samples: Sample[]): MetricFamily => ({
  name,
  type: "counter",
  help,
  samples: samples.map(sampleOf),
});

export const gauge = (name: string, help: string, ...samples: Sample[]): MetricFamily => ({
  name,
  type: "gauge",
  help,
  samples: samples.map(sampleOf),
});

function sampleOf([value, labels]: Sample): MetricSample {
  return labels === undefined ? { value } : { value, labels };
}
