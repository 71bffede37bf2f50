/** Measures the costs of a start, an idle gateway, a management command and an event, in the build that users run. */
import { execFileSync, spawn } from "node:child_process";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { Bus } from "../../kernel/host/bus.ts";
import { createLog } from "../../kernel/log/log.ts";
import { packageDir } from "../support/gateway.ts";
import { temporaryDir } from "../support/temporary.ts";
import { build, freePort, waitUntilHealthy, portico } from "./harness/built.ts";
import { median, residentMegabytes } from "./harness/measure.ts";
import type { Bench } from "./run.ts";

const runs = 7;

export default async function start(): Promise<Bench> {
  build();
  const home = temporaryDir("portico-bench-");
  const starts: number[] = [];
  let rss = 0;
  let command = 0;
  for (let run = 0; run <= runs; run++) {
    const port = await freePort();
    const began = performance.now();
    const child = spawn(process.execPath, [portico, "start", "--home", home, "--port", port], {
      stdio: "ignore",
    });
    await waitUntilHealthy(`http://127.0.0.1:${port}/health`, child);
    if (run > 0) starts.push(performance.now() - began);
    if (run === runs) {
      await new Promise((resolve) => setTimeout(resolve, 5000));
      rss = residentMegabytes(child.pid ?? 0);
      command = median(Array.from({ length: runs }, () => timed(["status", "--home", home])));
    }
    child.kill("SIGTERM");
    await new Promise((resolve) => child.once("exit", resolve));
  }
  const node = median(Array.from({ length: runs }, () => timed(undefined)));
  return {
    name: "start and size",
    figures: [
      {
        what: "cold start to the first healthy answer, median",
        value: median(starts),
        unit: "ms",
        limit: 400,
      },
      { what: "the same", value: median(starts) / node, unit: "×", ratioTo: "node -e 0" },
      { what: "resident memory, idle for 5 s", value: rss, unit: "MB", limit: 90 },
      { what: "portico status, median", value: command, unit: "ms", limit: 300 },
      { what: "an event without handlers", value: await emitMicroseconds(), unit: "µs", limit: 1 },
      {
        what: "install without development packages",
        value: installedMegabytes(),
        unit: "MB",
        limit: 60,
      },
    ],
  };
}

function timed(words: readonly string[] | undefined): number {
  const began = performance.now();
  execFileSync(process.execPath, words ? [portico, ...words] : ["-e", "0"], { stdio: "ignore" });
  return performance.now() - began;
}

async function emitMicroseconds(): Promise<number> {
  const bus = new Bus(createLog({ level: "silent" }).log);
  bus.declare("config:changed", { mode: "notify", description: "", sample: { keys: [] } });
  const context = { keys: [] };
  const rounds = 1_000_000;
  for (let i = 0; i < 10_000; i++) await bus.emit("config:changed", context);
  const began = performance.now();
  for (let i = 0; i < rounds; i++) await bus.emit("config:changed", context);
  return ((performance.now() - began) * 1000) / rounds;
}

/** Installs the package in an empty directory without development packages, as a user would, and returns the size in MB. */
function installedMegabytes(): number {
  const dir = temporaryDir("portico-install-");
  for (const name of [
    "package.json",
    "package-lock.json",
    "tsconfig.json",
    ".ci",
    "kernel",
    "plugins",
    "hooks",
  ]) {
    cpSync(join(packageDir, name), join(dir, name), { recursive: true });
  }
  execFileSync("npm", ["install", "--omit=dev"], { cwd: dir, stdio: "ignore" });
  const kilobytes = Number(
    execFileSync("du", ["-sk", join(dir, "node_modules")], { encoding: "utf8" }).split("\t")[0],
  );
  return kilobytes / 1024;
}
