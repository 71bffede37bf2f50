import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { openLogFile } from "../../../kernel/log/file.ts";
import { createLog } from "../../../kernel/log/log.ts";
import { test } from "../../support/suite.ts";
import { until } from "../../support/until.ts";

const root = mkdtempSync(join(tmpdir(), "portico-log-"));
test.after(() => rmSync(root, { recursive: true, force: true }));

const read = (file: string) => (existsSync(file) ? readFileSync(file, "utf8") : "");

test("a file that has grown moves away while the log goes on", async () => {
  const file = join(root, "grown.log");
  writeFileSync(`${file}.1`, "older\n");
  const log = openLogFile({ file, maxBytes: 100, onError: (error) => assert.unreachable(String(error)) });
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

test("of several that find it full one moves it away, and no line is lost", async () => {
  const file = join(root, "shared.log");
  const open = () => openLogFile({ file, maxBytes: 600, onError: (error) => assert.unreachable(String(error)) });
  const line = (n: number) => `${n} ${"x".repeat(60)}\n`;
  for (let round = 0; round < 30; round++) {
    for (const old of [file, `${file}.1`]) rmSync(old, { force: true });
    const logs = Array.from({ length: 4 }, open);
    for (const log of logs) log.write("begun\n");
    await Promise.all(logs.map((log) => log.flush()));
    for (const [n, log] of logs.entries()) log.write(line(n).repeat(10)); // the file is full by then,
    await Promise.all(logs.map((log) => log.flush()));
    for (const [n, log] of logs.entries()) log.write(line(n + 4)); // all find it so,
    await Promise.all(logs.map((log) => log.close()));
    const all = read(`${file}.1`) + read(file);
    for (let n = 0; n < 8; n++) assert.ok(all.includes(line(n)), `round ${round}, line ${n}`); // and none moves it twice
  }
  assert.not(existsSync(`${file}.lock`));
});

test("a lock that a process has left when it died keeps nobody for long", async () => {
  const file = join(root, "left.log");
  writeFileSync(file, "x".repeat(200));
  writeFileSync(`${file}.lock`, "");
  utimesSync(`${file}.lock`, 0, 0);
  const log = openLogFile({ file, maxBytes: 100, onError: (error) => assert.unreachable(String(error)) });
  log.write("next\n");
  await log.close();
  assert.is(read(`${file}.1`), "x".repeat(200));
  assert.is(read(file), "next\n");
});

test("after an error, told once, lines reach the file again", async () => {
  const file = join(root, "logs", "portico.log");
  mkdirSync(file, { recursive: true });
  const lines: string[] = [];
  const book = createLog({ file, write: (line) => lines.push(line) });
  const told = () => lines.filter((line) => line.includes("the log file cannot be written"));
  book.log.info("lost");
  await until("the error", () => told().length > 0);
  book.log.info("lost too");
  rmdirSync(file);
  await until("a line in the file", () => {
    book.log.info("again");
    return read(file).includes('"again"');
  });
  assert.is(told().length, 1);
  await book.close();
});

test.run();
