import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { LogFile } from "../../../kernel/log/file.ts";
import { createLog } from "../../../kernel/log/log.ts";
import { test } from "../../support/suite.ts";
import { temporaryDir } from "../../support/temporary.ts";
import { until } from "../../support/until.ts";

const root = temporaryDir("portico-log-");

const read = (file: string) => (existsSync(file) ? readFileSync(file, "utf8") : "");

test("a file that has grown too large is moved away while the log continues", async () => {
  const file = join(root, "grown.log");
  writeFileSync(`${file}.1`, "older\n");
  const log = new LogFile({
    file,
    maxBytes: 100,
    onError: (error) => assert.unreachable(String(error)),
  });
  const line = `${"x".repeat(60)}\n`;
  for (let n = 0; n < 3; n++) {
    log.write(`${n} ${line}`);
    await until(`line ${n}`, () => read(file).includes(`${n} x`));
  }
  await log.close();
  assert.is(read(`${file}.1`), `0 ${line}1 ${line}`);
  assert.is(read(file), `2 ${line}`);
  assert.is(statSync(file).mode & 0o777, 0o600);
});

test("when several writers meet a full file, one of them moves it away and no line is lost", async () => {
  const file = join(root, "shared.log");
  const errors: unknown[] = [];
  const open = () => new LogFile({ file, maxBytes: 600, onError: (error) => errors.push(error) });
  const line = (n: number) => `${n} ${"x".repeat(60)}\n`;
  for (let round = 0; round < 30; round++) {
    rmSync(`${file}.1`, { force: true });
    writeFileSync(file, "x".repeat(600));
    const logs = Array.from({ length: 4 }, open);
    for (const [n, log] of logs.entries()) log.write(line(n)); // all find it full,
    await Promise.all(logs.map((log) => log.close()));
    assert.is(read(`${file}.1`), "x".repeat(600)); // and none moves it twice
    for (const n of logs.keys())
      assert.ok(read(file).includes(line(n)), `round ${round}, line ${n}`);
  }
  assert.equal([errors, existsSync(`${file}.lock`)], [[], false]);
});

test("a writer that meets a moved file without a new one in its place loses no line", async () => {
  const file = join(root, "moved.log");
  const errors: unknown[] = [];
  const log = new LogFile({ file, maxBytes: 100, onError: (error) => errors.push(error) });
  log.write("x".repeat(200));
  await log.flush();
  writeFileSync(`${file}.lock`, ""); // another one is about to move it
  log.write("next\n");
  const written = log.flush();
  await new Promise((resolve) => setTimeout(resolve, 50)); // it waits by then; whether it does, the outcome is the same
  renameSync(file, `${file}.1`);
  rmSync(`${file}.lock`);
  await written;
  await log.close();
  assert.equal([read(`${file}.1`), read(file), errors], ["x".repeat(200), "next\n", []]);
});

test("a lock that a dead process left behind blocks nobody for long", async () => {
  const file = join(root, "left.log");
  writeFileSync(file, "x".repeat(200));
  writeFileSync(`${file}.lock`, "");
  utimesSync(`${file}.lock`, 0, 0);
  const log = new LogFile({
    file,
    maxBytes: 100,
    onError: (error) => assert.unreachable(String(error)),
  });
  log.write("next\n");
  await log.close();
  assert.is(read(`${file}.1`), "x".repeat(200));
  assert.is(read(file), "next\n");
});

test("after an error, which is reported once, lines reach the file again", async () => {
  const file = join(root, "logs", "portico.log");
  mkdirSync(file, { recursive: true });
  const lines: string[] = [];
  const book = createLog({ file, write: (line) => lines.push(line) });
  const warnings = () => lines.filter((line) => line.includes("the log file cannot be written"));
  book.log.info("lost");
  await until("the error", () => warnings().length > 0);
  book.log.info("lost too");
  rmdirSync(file);
  await until("a line in the file", () => {
    book.log.info("again");
    return read(file).includes('"again"');
  });
  assert.is(warnings().length, 1);
  await book.close();
});

test.run();
