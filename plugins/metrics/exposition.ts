/** Prometheus' text format, version 0.0.4. */
import type { MetricFamily, MetricSample } from "portico/metrics";

export const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const LABEL = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

/**
 * Formats families as text, including those without samples, so that all metrics are visible. Families of the same name are
 * merged. Of duplicate series only the first counts, because a duplicate makes the whole response invalid. Throws
 * `TypeError` if a name is not valid in the format.
 */
export function render(families: readonly MetricFamily[]): string {
  const byName = new Map<string, { head: string; lines: Map<string, string> }>();
  for (const { name, type, help, samples } of families) {
    if (!NAME.test(name)) throw new TypeError(`${name} is not a valid metric name`);
    const head = `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n`;
    const family = byName.get(name) ?? { head, lines: new Map<string, string>() };
    byName.set(name, family);
    for (const sample of samples) {
      const series = name + (sample.suffix ?? "") + formatLabels(sample);
      if (!family.lines.has(series))
        family.lines.set(series, `${series} ${formatNumber(sample.value)}\n`);
    }
  }
  let text = "";
  for (const { head, lines } of byName.values()) text += head + [...lines.values()].join("");
  return text;
}

function formatLabels({ labels }: MetricSample): string {
  if (labels === undefined) return "";
  const pairs = Object.entries(labels).map(([name, value]) => {
    if (!LABEL.test(name)) throw new TypeError(`${name} is not a valid label name`);
    return `${name}="${escapeValue(value)}"`;
  });
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escapeHelp(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

function escapeValue(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"');
}

function formatNumber(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  if (value === Number.NEGATIVE_INFINITY) return "-Inf";
  return String(value);
}
