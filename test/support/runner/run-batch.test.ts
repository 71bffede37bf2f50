/** Test files that share a process: each has its own result, whatever the others do. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { transformSync } from "esbuild";
import * as assert from "uvu/assert";
import { test } from "../suite.ts";
import { packageDir } from "../gateway.ts";
import { temporaryDir } from "../temporary.ts";
import { PATIENCE_MS, until } from "../until.ts";
import { type Batch, takeShare } from "./batches.ts";
import { program } from "./bundle.ts";
import { mapToSources } from "./positions.ts";
import { type FileResult, runBatch } from "./run-batch.ts";

const uvu = import.meta.resolve("uvu");
const good = 'test("right", () => {}); test.run();';

/** Runs files with these texts in this order. */
async function run(
  texts: Record<string, string>,
  timeoutMs = 60_000,
  files = Object.keys(texts),
  told = (_result: FileResult) => {},
): Promise<Record<string, FileResult>> {
  const dir = temporaryDir();
  for (const [name, text] of Object.entries(texts))
    writeFileSync(
      join(dir, `${name}.mjs`),
      `import { suite } from "${uvu}"; const test = suite("${name}"); ${text}`,
    );
  const results: Record<string, FileResult> = {};
  await runBatch(files, {
    program: program(join(packageDir, "test/support/runner/batch.program.ts")),
    compiled: (name) => join(dir, `${name}.mjs`),
    timeoutMs,
    done: (result) => {
      results[result.file] = result;
      told(result);
    },
  });
  return results;
}

/**
 * Runs files with the first time limit in which all of them complete their tests, since a process may take long to start.
 */
async function withTimeForTests(
  texts: Record<string, string>,
): Promise<Record<string, FileResult>> {
  for (let timeoutMs = 1_000; ; timeoutMs *= 4) {
    const results = await run(texts, timeoutMs);
    if (timeoutMs > PATIENCE_MS || Object.values(results).every(({ passed }) => passed > 0))
      return results;
  }
}

const counts = (results: Record<string, FileResult>) =>
  Object.fromEntries(
    Object.entries(results).map(([name, { passed, failed }]) => [name, `${passed} ${failed}`]),
  );

/**
 * Returns the stat line of a process, or an empty string if there is none. A process that has ended but was not reaped is
 * in state Z.
 */
function statOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return "";
  }
}

test("each file has its own counts and output", async () => {
  const results = await run({
    first: `console.log("of the first"); ${good}`,
    wrong:
      'test("wrong", () => { throw new Error("so wrong"); }); test("right", () => {}); test.run();',
    last: `console.error("of the last"); ${good}`,
  });
  assert.equal(counts(results), { first: "1 0", wrong: "1 1", last: "1 0" });
  assert.match(results["wrong"]!.output, "so wrong");
  assert.match(results["first"]!.output, "of the first");
  assert.match(results["last"]!.output, "of the last");
  assert.not.match(results["last"]!.output, "so wrong");
});

test("what ends the process, registers no test or cannot be loaded fails alone", async () => {
  const results = await run({
    ends: 'test("ends", () => process.exit(0)); test.run();',
    throws: `setTimeout(() => { throw new Error("later"); }, 20); ${good}`,
    rejects: `${good} Promise.reject(new Error("nobody listens"));`,
    empty: "test.run();",
    forgotten: 'test("never run", () => {});',
    broken: 'throw new Error("cannot be loaded");',
    before:
      'test.before(() => { throw new Error("no setting up"); }); test("x", () => {}); test.run();',
    last: good,
  });
  const failed = {
    ends: "0 1",
    throws: "1 1",
    rejects: "1 1",
    empty: "0 1",
    forgotten: "0 1",
    broken: "0 1",
  };
  assert.equal(counts(results), { ...failed, before: "0 1", last: "1 0" });
  assert.match(results["throws"]!.output, "later");
  assert.match(results["rejects"]!.output, "nobody listens");
  assert.match(results["broken"]!.output, "cannot be loaded");
});

test("what goes on after its tests is waited for, and killed when it does not end", async () => {
  const hangs = 'test("hangs", () => new Promise(() => setInterval(() => {}, 1000))); test.run();';
  const stays = `setInterval(() => {}, 1000); ${good}`;
  const all = await Promise.all([
    run({ ends: `setTimeout(() => console.log("the end"), 50); ${good}`, last: good }),
    run({ hangs }, 500),
    withTimeForTests({ stays, after: good }),
  ]);
  const results = Object.assign({}, ...all);
  assert.equal(counts(results), {
    ends: "1 0",
    last: "1 0",
    hangs: "0 1",
    stays: "1 1",
    after: "1 0",
  });
  assert.match(results["ends"]!.output, "the end");
  assert.match(results["hangs"]!.output, "still running");
  assert.match(results["stays"]!.output, "still running");
});

test("what a file changes of the process fails it, and no other file sees it", async () => {
  const unchanged = `if (process.env.LEFT || process.cwd() === "/" || fetch.mine) throw new Error("seen"); ${good}`;
  const results = await run({
    variable: `process.env.LEFT = "1"; ${good}`,
    directory: `${unchanged} process.chdir("/");`,
    fetching: `${unchanged} globalThis.fetch = Object.assign(() => {}, { mine: true });`,
    last: unchanged,
  });
  assert.equal(counts(results), {
    variable: "1 1",
    directory: "1 1",
    fetching: "1 1",
    last: "1 0",
  });
  assert.match(results["variable"]!.output, "the file has changed LEFT");
});

test("files that another process takes over are run once, by that one", async () => {
  const texts = { first: good, second: good, third: good, fourth: good, fifth: good };
  const batch: Batch = { files: Object.keys(texts), isWhole: false };
  let others: Promise<Record<string, FileResult>> | undefined;
  const own = await run(texts, 60_000, batch.files, () => {
    others ??= run(texts, 60_000, takeShare([{ files: [], isWhole: false }, batch])?.files);
  });
  assert.equal(counts(own), { first: "1 0", second: "1 0", third: "1 0" });
  assert.equal(counts((await others)!), { fourth: "1 0", fifth: "1 0" });
});

test("of batches the one with the most files left is shared, unless they belong into one process", () => {
  const whole = { files: ["a", "b", "c", "d"], isWhole: true };
  const few = { files: ["e"], isWhole: false };
  const most = { files: ["f", "g", "h"], isWhole: false };
  const shares = [1, 2, 3, 4, 5].map(() => takeShare([whole, few, most])?.files);
  assert.equal(shares, [["g", "h"], ["e"], ["f"], undefined, undefined]);
  assert.is(whole.files.length, 4);
});

test("a position in a compiled file is reported as the one in its source", () => {
  const dir = temporaryDir();
  const options = { loader: "ts", sourcemap: "external", sourcefile: "a.ts" } as const;
  const { code, map } = transformSync("\n\nconst it: string = missing;", options);
  writeFileSync(join(dir, "a.js"), code);
  writeFileSync(join(dir, "a.js.map"), map);
  const stack = (file: string, position: string) => `at async (${file}:${position})\n/none.js:1:2`;
  assert.is(mapToSources(stack(`file://${dir}/a.js`, "1:12")), stack(join(dir, "a.ts"), "3:20"));
});

test("a child that is left goes with the process and does not hold it up", async () => {
  const leaving = 'import { spawn } from "node:child_process";';
  const child =
    'const child = spawn("sleep", ["60"], { stdio: "inherit" }); child.unref(); console.log(child.pid);';
  const results = await run({ leaves: `${leaving} ${child} ${good}`, last: good });
  assert.equal(counts(results), { leaves: "1 0", last: "1 0" });
  const pid = Number.parseInt(results["leaves"]!.output, 10);
  await until("the child's end", () => !/\) [^Z]/.test(statOf(pid)));
});

test.run();
