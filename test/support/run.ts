/**
 * Runs the suite: every `*.test.ts`, compiled once, in a process of its own, so that no test sees another's timers,
 * environment or servers. A file that registers no test, prints no summary or does not end fails. The last line is
 * `N passed, N failed`.
 *
 * `npm test -- chat router` runs the files whose path holds one of the words.
 */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { bundleSuite } from "./runner/bundle.ts";
import { prepareMachine } from "./machine/prepare.ts";

const root = join(import.meta.dirname, "..");
const fileTimeoutMs = 150_000;
const width = Number(process.env["PORTICO_TEST_JOBS"] ?? 3);
/** In the package, where packages are found; each run has its own. */
const bundle = join(dirname(root), ".build", `suite-${process.pid}`);

interface FileResult {
  file: string;
  passed: number;
  failed: number;
  ms: number;
  output: string;
}

const words = process.argv.slice(2);
const files = readdirSync(root, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".test.ts"))
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  .sort((a, b) => weight(b) - weight(a) || (a < b ? -1 : 1));

/** The groups of what runs now: each file with the gateways and browsers it has started. */
const running = new Set<number>();
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => {
    for (const group of running) endGroup(group);
    rmSync(bundle, { recursive: true, force: true });
    process.kill(process.pid, signal);
  });

prepareMachine(files);
await bundleSuite(files, bundle);
const results = await runAll(files);
rmSync(bundle, { recursive: true, force: true });
const failures = results.filter((result) => result.failed > 0);
for (const { file, output } of failures) console.log(`\n──── ${file}\n${output.trimEnd()}`);
const passed = results.reduce((sum, result) => sum + result.passed, 0);
const failed = results.reduce((sum, result) => sum + result.failed, 0);
if (files.length === 0) console.log("No test file matches.");
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed > 0 || passed === 0 ? 1 : 0);

async function runAll(all: readonly string[]): Promise<FileResult[]> {
  const waiting = [...all];
  const done: FileResult[] = [];
  const worker = async () => {
    for (let file = waiting.shift(); file; file = waiting.shift()) {
      const result = await runFile(file);
      done.push(result);
      const mark = result.failed ? "✗" : "✓";
      console.log(
        `${mark} ${relative(root, join(root, file))}  ${result.passed} passed, ${result.failed} failed  ${result.ms} ms`,
      );
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
  return done;
}

/** What waits on processes, kills and browsers takes longest and goes first, so that none of it runs alone at the end. */
function weight(file: string): number {
  const text = readFileSync(join(root, file), "utf8");
  return (text.match(/SIGKILL|spawnGateway\(|spawnNode\(|portico\(|startBrowser|startBrowserGateway/g) ?? []).length;
}

function runFile(file: string): Promise<FileResult> {
  const began = Date.now();
  return new Promise((resolve) => {
    const compiled = join(bundle, "test", file.replace(/\.ts$/, ".js"));
    const child = spawn(process.execPath, ["--enable-source-maps", compiled], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, FORCE_COLOR: "0", NODE_ENV: "test", PORTICO_TEST_BUNDLE: bundle },
      detached: true,
    });
    const group = child.pid;
    if (group) running.add(group);
    let output = "";
    let late = false;
    child.stdout.on("data", (chunk) => (output += chunk));
    child.stderr.on("data", (chunk) => (output += chunk));
    const timer = setTimeout(() => {
      late = true;
      output += `\nstill running after ${fileTimeoutMs / 1000} s: killed`;
      endGroup(group);
    }, fileTimeoutMs);
    child.on("close", (code) => {
      clearTimeout(timer);
      endGroup(group);
      if (group) running.delete(group);
      resolve({ file, ...count(output, code === 0 && !late), ms: Date.now() - began, output });
    });
  });
}

/** What a test left running goes with it. */
function endGroup(group: number | undefined): void {
  try {
    if (group) process.kill(-group, "SIGKILL");
  } catch {
    // Nothing was left.
  }
}

/** Reads uvu's summary; a file without one, or that ended badly or too late after it, counts as a failure. */
function count(output: string, endedWell: boolean): { passed: number; failed: number } {
  const total = /^\s*Total:\s+(\d+)/m.exec(output);
  const good = /^\s*Passed:\s+(\d+)/m.exec(output);
  const passed = Number(good?.[1] ?? 0);
  const failed = Number(total?.[1] ?? 0) - passed;
  if (!total || Number(total[1]) === 0) return { passed: 0, failed: 1 };
  return { passed, failed: endedWell ? failed : Math.max(1, failed) };
}
