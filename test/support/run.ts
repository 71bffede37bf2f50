/**
 * Runs the suite: every `*.test.ts`, compiled once, several per process. A file fails if it registers no test, prints no
 * summary, changes the process or does not end. The last line is `N passed, N failed`.
 *
 * `npm test -- chat router` runs the files whose path contains one of the words.
 */
import { readdirSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { runDir } from "./machine/memory-dir.ts";
import { prepareMachine, preparePostgres } from "./machine/prepare.ts";
import { type Batch, divideIntoBatches, takeShare } from "./runner/batches.ts";
import { bundleSuite } from "./runner/bundle.ts";
import { engineOptions } from "./runner/engine.ts";
import { mapToSources } from "./runner/positions.ts";
import { type FileResult, runBatch, stopBatches } from "./runner/run-batch.ts";

const root = join(import.meta.dirname, "..");
/** The time limit of a file that hangs. It is long, because on a busy core some files take minutes. */
const fileTimeoutMs = 600_000;
/**
 * The number of concurrent batches: three per core, since files wait for processes, timers and disks. More would need much
 * memory.
 */
const concurrency = Number(
  process.env["PORTICO_TEST_JOBS"] ?? Math.min(3 * availableParallelism(), 12),
);
/** The directory of the compiled files. It is in the package, so that imports of packages resolve. Each run has its own. */
const bundle = join(dirname(root), ".build", `suite-${process.pid}`);
const temporary = runDir();
/**
 * The environment of the tests. They do not need further authorities, and with `NODE_EXTRA_CA_CERTS` Node would read a file
 * at each start, which takes twice as long as the rest of the start.
 */
const testEnvironment = { FORCE_COLOR: "0", NODE_ENV: "test", NODE_EXTRA_CA_CERTS: undefined };

const words = process.argv.slice(2);
const files = readdirSync(root, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".test.ts"))
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  .sort();

for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => {
    stopBatches();
    removeTemporaryFiles();
    process.kill(process.pid, signal);
  });

prepareMachine(files);
await Promise.all([bundleSuite(files, bundle), preparePostgres(files, temporary.dir, bundle)]);
const results: FileResult[] = [];
const waitingBatches = divideIntoBatches(files, root, concurrency);
const running = new Set<Batch>();
await Promise.all(Array.from({ length: concurrency }, runWaiting));
removeTemporaryFiles();
const failures = results.filter((result) => result.failed > 0);
for (const { file, output } of failures) console.log(`\n──── ${file}\n${output.trimEnd()}`);
const passed = results.reduce((sum, result) => sum + result.passed, 0);
const failed = results.reduce((sum, result) => sum + result.failed, 0);
if (files.length === 0) console.log("No test file matches.");
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed > 0 || passed === 0 ? 1 : 0);

async function runWaiting(): Promise<void> {
  const compiled = (file: string) => join(bundle, "test", file.replace(/\.ts$/, ".js"));
  for (let batch = nextBatch(); batch; batch = nextBatch()) {
    running.add(batch);
    await runBatch(batch.files, {
      program: [
        ...engineOptions,
        "--enable-source-maps",
        compiled("support/runner/batch.program.ts"),
      ],
      compiled,
      env: { ...testEnvironment, PORTICO_TEST_BUNDLE: bundle, TMPDIR: temporary.dir },
      timeoutMs: fileTimeoutMs,
      done: report,
    });
    running.delete(batch);
  }
}

/** Returns the next batch. At the end, when cores would otherwise be idle, it is a part of a running batch. */
function nextBatch(): Batch | undefined {
  return (
    waitingBatches.shift() ??
    (running.size <= availableParallelism() ? takeShare(running) : undefined)
  );
}

function removeTemporaryFiles(): void {
  rmSync(bundle, { recursive: true, force: true });
  temporary.remove();
}

function report(result: FileResult): void {
  results.push(result.failed > 0 ? { ...result, output: mapToSources(result.output) } : result);
  const { file, passed, failed, ms, output } = result;
  console.log(`${failed ? "✗" : "✓"} ${file}  ${passed} passed, ${failed} failed  ${ms} ms`);
  for (const [reason] of output.matchAll(/SKIPPED .*/g)) console.log(`  ${reason}`);
}
