/** The table of a comparison: what each took, and whether a difference is more than noise. */
import { median } from "../harness/measure.ts";
import type { Reading } from "./area.ts";
import type { Name, Of } from "./subjects.ts";

/** What is worse by more than this is marked. */
const SHARE = 0.03;
const NAMES: readonly Name[] = ["base", "now", "reference", "sockets"];

export const legend = `medians; the ratio of each round, and where their median lies in 19 of 20 cases; WORSE: by more than ${SHARE * 100} %
for sure, worse?: it may be noise`;

export function print({ name, what }: { name: string; what: string }, seen: Of<Reading[]>): void {
  const names = NAMES.filter((one) => seen[one] !== undefined);
  const proxies = names.filter((one) => one === "reference");
  console.log(`\n${name}: ${what}`);
  console.log(row("", [...names, "now/base", ...proxies.map((one) => `now/${one}`), ""]));
  for (const figure of Object.keys(seen.now[0]!)) {
    const of = (one: Name) => seen[one]!.map((reading) => reading[figure]!);
    const to = (one: Name) => of("now").map((value, round) => value / of(one)[round]!);
    const cells = [...names.map((one) => shown(median(of(one)))), sure(to("base"))];
    console.log(
      row(figure, [
        ...cells,
        ...proxies.map((one) => median(to(one)).toFixed(2)),
        verdict(figure, to("base")),
      ]),
    );
  }
}

/** Between which of the readings, in order, their median lies in 19 of 20 cases. */
function bounds(values: readonly number[]): [low: number, high: number] {
  const sorted = [...values].sort((a, b) => a - b);
  const at = Math.max(0, Math.floor(sorted.length / 2 - 0.98 * Math.sqrt(sorted.length)));
  return [sorted[at]!, sorted[sorted.length - 1 - at]!];
}

function sure(values: readonly number[]): string {
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

function shown(value: number): string {
  return value >= 100 ? String(Math.round(value)) : value.toPrecision(3);
}

function row(head: string, cells: readonly string[]): string {
  return `  ${head.padEnd(32)}${cells.map((cell) => cell.padStart(cell.includes("(") || cell.startsWith("now/base") ? 20 : 11)).join("")}`;
}
