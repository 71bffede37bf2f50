/** Prints the table of a comparison: the costs of each subject, and whether a difference is more than noise. */
import { median } from "../harness/measure.ts";
import type { Reading } from "./area.ts";
import type { Name, Of } from "./subjects.ts";

/** The share by which a figure must be worse to be marked. */
const SHARE = 0.03;
const NAMES: readonly Name[] = ["base", "now", "reference", "sockets"];

export const legend = `medians; the ratio of each round, and where their median lies in 19 of 20 cases; WORSE: by more than ${SHARE * 100} %
for sure, worse?: it may be noise`;

export function print(
  { name, what }: { name: string; what: string },
  readings: Of<Reading[]>,
): void {
  const names = NAMES.filter((subject) => readings[subject] !== undefined);
  const proxies = names.filter((subject) => subject === "reference");
  console.log(`\n${name}: ${what}`);
  console.log(row("", [...names, "now/base", ...proxies.map((proxy) => `now/${proxy}`), ""]));
  for (const figure of Object.keys(readings.now[0]!)) {
    const valuesOf = (subject: Name) => readings[subject]!.map((reading) => reading[figure]!);
    const ratiosTo = (subject: Name) =>
      valuesOf("now").map((value, round) => value / valuesOf(subject)[round]!);
    const cells = [
      ...names.map((subject) => formatValue(median(valuesOf(subject)))),
      formatRatio(ratiosTo("base")),
    ];
    console.log(
      row(figure, [
        ...cells,
        ...proxies.map((proxy) => median(ratiosTo(proxy)).toFixed(2)),
        verdict(figure, ratiosTo("base")),
      ]),
    );
  }
}

/** Returns the 95 % confidence interval of the median, from the order statistics. */
function bounds(values: readonly number[]): [low: number, high: number] {
  const sorted = [...values].sort((a, b) => a - b);
  const at = Math.max(0, Math.floor(sorted.length / 2 - 0.98 * Math.sqrt(sorted.length)));
  return [sorted[at]!, sorted[sorted.length - 1 - at]!];
}

function formatRatio(values: readonly number[]): string {
  const [low, high] = bounds(values);
  return `${median(values).toFixed(2)} (${low.toFixed(2)}–${high.toFixed(2)})`;
}

function verdict(figure: string, toBase: readonly number[]): string {
  const [low, high] = bounds(toBase);
  const [typical, least] = figure.endsWith("/s")
    ? [1 / median(toBase), 1 / high]
    : [median(toBase), low];
  if (typical <= 1 + SHARE) return "";
  return least > 1 + SHARE ? "WORSE" : "worse?";
}

function formatValue(value: number): string {
  return value >= 100 ? String(Math.round(value)) : value.toPrecision(3);
}

function row(head: string, cells: readonly string[]): string {
  return `  ${head.padEnd(32)}${cells.map((cell) => cell.padStart(cell.includes("(") || cell.startsWith("now/base") ? 20 : 11)).join("")}`;
}
