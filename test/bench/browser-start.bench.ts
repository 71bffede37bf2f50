/**
 * Measures the cost of the browser plugin for a gateway that never uses a browser: starts with and without it alternate. The
 * difference is small, so it compares processor times, and their 10th percentile, which is the least disturbed.
 */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDir } from "../support/temporary.ts";
import { build, freePort, waitUntilHealthy, portico } from "./harness/built.ts";
import { percentile, residentMegabytes } from "./harness/measure.ts";
import type { Bench } from "./run.ts";

const RUNS = 40;
const IDLE_MS = 500;

interface Start {
  cpuMs: number;
  megabytes: number;
}

/** Returns the processor time of all threads so far. */
function cpuMs(pid: number): number {
  const nanoseconds = readdirSync(`/proc/${pid}/task`).map((thread) =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]),
  );
  return nanoseconds.reduce((sum, ns) => sum + ns, 0) / 1e6;
}

async function start(home: string): Promise<Start> {
  const port = await freePort();
  const child = spawn(process.execPath, [portico, "start", "--home", home, "--port", port], {
    stdio: "ignore",
  });
  await waitUntilHealthy(`http://127.0.0.1:${port}/health`, child);
  const cpuTimeMs = cpuMs(child.pid!);
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  const megabytes = residentMegabytes(child.pid!);
  child.kill("SIGTERM");
  await new Promise((resolve) => child.once("exit", resolve));
  return { cpuMs: cpuTimeMs, megabytes };
}

export default async function browserStart(): Promise<Bench> {
  build();
  const [whole, without] = [temporaryDir("portico-bench-"), temporaryDir("portico-bench-")];
  writeFileSync(
    join(without, "portico.json"),
    JSON.stringify({ plugins: { entries: { browser: { enabled: false } } } }),
  );
  const starts: { whole: Start[]; without: Start[] } = { whole: [], without: [] };
  for (let run = -1; run < RUNS; run++) {
    const both = { whole: await start(whole), without: await start(without) };
    if (run < 0) continue;
    starts.whole.push(both.whole);
    starts.without.push(both.without);
  }
  const typical = (starts: Start[], figure: keyof Start): number =>
    percentile(
      starts.map((start) => start[figure]),
      0.1,
    );
  const share = (what: keyof Start): number =>
    typical(starts.whole, what) - typical(starts.without, what);
  return {
    name: "browser plugin, never used",
    figures: [
      {
        what: "a start without it, processor time",
        value: typical(starts.without, "cpuMs"),
        unit: "ms",
      },
      { what: "its share of a start, processor time", value: share("cpuMs"), unit: "ms", limit: 5 },
      { what: "its share of the resident memory", value: share("megabytes"), unit: "MB", limit: 2 },
    ],
  };
}
