/**
 * `npm run bench [words]`: runs every `*.bench.ts` in a process of its own and prints its figures beside their limits;
 * `npm run bench -- compare BASE [areas]` is in compare/.
 */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";

export interface Figure {
  what: string;
  value: number;
  unit: string;
  /** What the project asks for, in the same unit. */
  limit?: number;
  /** `max`: at most the limit (default); `min`: at least. */
  bound?: "max" | "min";
  /** Of its readings: nine of ten lie above the one, and below the other. */
  spread?: [low: number, high: number];
  /** What a ratio compares with. */
  ratioTo?: string;
}
export interface Bench {
  name: string;
  figures: Figure[];
}

const [, , only, ...rest] = process.argv;
if (only?.endsWith(".bench.ts")) {
  const { default: bench } = (await import(only)) as { default: () => Promise<Bench> };
  print(await bench());
  process.exit(0);
}
if (only === "compare") {
  const { compare } = await import("./compare/compare.ts");
  await compare(rest);
  process.exit(0);
}
const words = only ? [only, ...rest] : [];
const files = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".bench.ts"))
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)));
for (const file of files.sort()) {
  const { status } = spawnSync(
    process.execPath,
    ["--expose-gc", "--import", "tsx", import.meta.filename, join(import.meta.dirname, file)],
    { stdio: "inherit" },
  );
  if (status !== 0) process.exitCode = 1;
}

function print({ name, figures }: Bench): void {
  console.log(`\n${name}`);
  for (const { what, value, unit, limit, bound, ratioTo, spread } of figures) {
    const shown = `${round(value)} ${unit}`.trim();
    const between = spread ? ` (${round(spread[0])}–${round(spread[1])})` : "";
    const against = ratioTo ? `${between} (to ${ratioTo})` : between;
    console.log(`  ${what.padEnd(60)} ${shown.padStart(14)}${against}${verdict(value, limit, bound)}`);
  }
}

function verdict(value: number, limit: number | undefined, bound: "max" | "min" = "max"): string {
  if (limit === undefined) return "";
  const met = bound === "max" ? value <= limit : value >= limit;
  return `   ${bound === "max" ? "≤" : "≥"} ${limit} ${met ? "met" : "NOT MET"}`;
}

function round(value: number): number {
  return Math.abs(value) >= 100 ? Math.round(value) : Math.round(value * 1000) / 1000;
}
