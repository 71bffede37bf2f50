import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from "node:fs";
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

test("of several that write to it one moves it away, and the others follow", async () => {
  const file = join(root, "shared.log");
  const open = (maxBytes: number) =>
    openLogFile({ file, maxBytes, onError: (error) => assert.unreachable(String(error)) });
  const [one, other] = [open(100), open(Number.POSITIVE_INFINITY)];
  const line = (n: number) => `${n} ${"x".repeat(60)}\n`;
  for (const [n, log] of [one, other, other, one, other].entries()) {
    log.write(line(n));
    await until(`line ${n}`, () => read(file).includes(`${n} x`) || read(`${file}.1`).includes(`${n} x`));
  }
  await Promise.all([one.close(), other.close()]);
  const all = read(`${file}.1`) + read(file);
  for (const n of [0, 1, 2, 3, 4]) assert.ok(all.includes(line(n)), all);
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
