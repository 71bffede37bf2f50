/** Prometheus' text format, version 0.0.4. */
import type { MetricFamily, MetricSample } from "portico/metrics";

export const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const LABEL = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

/**
 * The families as text; those without a sample too, so that it shows what there is. Those of one name become one; a series that comes twice counts once, since a second line of the
 * same labels makes the whole answer worthless. Throws `TypeError` for a name that the format does not know.
 */
export function render(families: readonly MetricFamily[]): string {
  const byName = new Map<string, { head: string; lines: Map<string, string> }>();
  for (const { name, type, help, samples } of families) {
    if (!NAME.test(name)) throw new TypeError(`${name} is not a valid metric name`);
    const head = `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n`;
    const family = byName.get(name) ?? { head, lines: new Map<string, string>() };
    byName.set(name, family);
    for (const sample of samples) {
      const series = name + (sample.suffix ?? "") + labelsOf(sample);
      if (!family.lines.has(series))
        family.lines.set(series, `${series} ${numberOf(sample.value)}\n`);
    }
  }
  let text = "";
  for (const { head, lines } of byName.values()) text += head + [...lines.values()].join("");
  return text;
}

function labelsOf({ labels }: MetricSample): string {
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

function numberOf(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  if (value === Number.NEGATIVE_INFINITY) return "-Inf";
  return String(value);
}
