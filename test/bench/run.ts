/**
 * `npm run bench [words]` runs every `*.bench.ts` in a process of its own and prints its figures with their limits.
 * `npm run bench -- compare BASE [areas]` is in compare/. The benchmarks are compiled first, like the code that users run,
 * because a loader's names on closures and source maps would otherwise be measured, too.
 */
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { bundleSuite } from "../support/runner/bundle.ts";

export interface Figure {
  what: string;
  value: number;
  unit: string;
  /** The project's requirement, in the same unit. */
  limit?: number;
  /** `max`: at most the limit (default); `min`: at least the limit. */
  bound?: "max" | "min";
  /** The 10th and 90th percentiles of its readings. */
  spread?: [low: number, high: number];
  /** The baseline of a ratio. */
  ratioTo?: string;
}
export interface Bench {
  name: string;
  figures: Figure[];
}

const [, , only, ...rest] = process.argv;
if (only === "--compiled") await runCompiled(rest);
else await runAll(only === undefined ? [] : [only, ...rest]);

/** Runs the benchmarks that the words of the command line select. */
async function runAll(words: readonly string[]): Promise<void> {
  const files = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".bench.ts"))
    .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
    .sort();
  // in the package, so that imports of packages resolve
  const outdir = join(import.meta.dirname, "../../node_modules", `.bench-${process.pid}`);
  const compiled = (file: string) => join(outdir, "test/bench", file.replace(/\.ts$/, ".js"));
  try {
    const calls = words[0] === "compare" ? [words] : files.map((file) => [compiled(file)]);
    await bundleSuite(["bench/run.ts", ...files.map((file) => join("bench", file))], outdir);
    for (const call of calls) {
      const command = [
        "--expose-gc",
        "--enable-source-maps",
        compiled("run.ts"),
        "--compiled",
        ...call,
      ];
      const { status } = spawnSync(process.execPath, command, { stdio: "inherit" });
      if (status !== 0) process.exitCode = 1;
    }
  } finally {
    rmSync(outdir, { recursive: true, force: true });
  }
}

async function runCompiled([what = "", ...words]: readonly string[]): Promise<void> {
  if (what === "compare") {
    const { compare } = await import("./compare/compare.ts");
    await compare(words);
  } else {
    const { default: bench } = (await import(what)) as { default: () => Promise<Bench> };
    print(await bench());
  }
  process.exit();
}

function print({ name, figures }: Bench): void {
  console.log(`\n${name}`);
  for (const { what, value, unit, limit, bound, ratioTo, spread } of figures) {
    const valueText = `${round(value)} ${unit}`.trim();
    const between = spread ? ` (${round(spread[0])}–${round(spread[1])})` : "";
    const against = ratioTo ? `${between} (to ${ratioTo})` : between;
    console.log(
      `  ${what.padEnd(60)} ${valueText.padStart(14)}${against}${verdict(value, limit, bound)}`,
    );
  }
}

function verdict(value: number, limit: number | undefined, bound: "max" | "min" = "max"): string {
  if (limit === undefined) return "";
  const isMet = bound === "max" ? value <= limit : value >= limit;
  return `   ${bound === "max" ? "≤" : "≥"} ${limit} ${isMet ? "met" : "NOT MET"}`;
}

function round(value: number): number {
  return Math.abs(value) >= 100 ? Math.round(value) : Math.round(value * 1000) / 1000;
}
