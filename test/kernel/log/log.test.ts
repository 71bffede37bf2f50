import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { createLog } from "../../../kernel/log/log.ts";
import { createRecentLines } from "../../../kernel/log/recent-lines.ts";

function collect(): { lines: string[]; book: ReturnType<typeof createLog> } {
  const lines: string[] = [];
  return { lines, book: createLog({ write: (line) => lines.push(line) }) };
}

test("a secret appears nowhere: not by key, not in a message, not in an error", () => {
  const { lines, book } = collect();
  book.addSecret("canary-7f3a");
  book.log.info(
    { token: "other-secret", headers: { authorization: "Bearer x-y-z" } },
    "hello canary-7f3a",
  );
  book.log.child({ apiKey: "sk-child" }).warn({ gateway: { auth: { token: "deep" } } }, "child");
  const error = Object.assign(new Error("refused canary-7f3a"), {
    config: { headers: { authorization: "leak" } },
  });
  book.log.error({ err: error }, "failed");
  const text = lines.join("");
  for (const secret of ["canary-7f3a", "other-secret", "x-y-z", "sk-child", '"deep"', "leak"]) {
    assert.not.match(text, new RegExp(secret), secret);
  }
  assert.is(lines.length, 3);
});

test("a secret is masked in its JSON form, and only in strings, so that a line stays JSON", () => {
  const { lines, book } = collect();
  for (const secret of ['pa"ss\\word', "12345678", "two\nlines", "nested"]) book.addSecret(secret);
  book.log.info({ n: 12345678, s: "id 12345678", deep: ['pa"ss\\word'] }, 'with pa"ss\\word');
  // what looks like a secret here begins within an escape
  book.log.info({ text: "a\nested" }, "two\nlines");
  const response = {
    method: "GET",
    path: "/12345678",
    status: 200,
    ms: 12345678,
    bytes: 1,
    cut: false,
  };
  book.access({ id: "r-12345678", isOwnId: false, ...response });
  const [first, second, third] = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.equal(
    [first?.n, first?.s, first?.deep, first?.msg],
    [12345678, "id [redacted]", ["[redacted]"], "with [redacted]"],
  );
  assert.equal([second?.text, second?.msg], ["a\nested", "[redacted]"]);
  assert.equal([third?.id, third?.path, third?.ms], ["r-[redacted]", "/[redacted]", 12345678]);
});

test("a follower that throws harms neither the caller nor other followers", async () => {
  const { lines, book } = collect();
  const followed: string[] = [];
  book.follow(() => {
    throw new Error("gone");
  });
  book.follow((line) => followed.push(line));
  book.log.info("one");
  await Promise.resolve();
  book.log.info("two");
  assert.equal(
    followed.map((line) => (JSON.parse(line) as { msg: string }).msg),
    ["one", "a subscriber of the log failed and receives no further lines", "two"],
  );
  assert.is(lines.length, 3);
});

test("recent lines are kept and followers get new ones", () => {
  const { book } = collect();
  const followed: string[] = [];
  book.log.info("one");
  const stop = book.follow((line) => followed.push(line));
  book.log.info("two");
  stop();
  book.log.info("three");
  assert.is(book.recent().length, 3);
  assert.is(followed.length, 1);
  assert.match(followed[0] ?? "", /two/);
});

test("the last lines are complete, whatever their size and script, and no more than the requested number", () => {
  const recent = createRecentLines(100, 4096);
  const lines = Array.from({ length: 500 }, (_, i) => `${i} ${"añ日😀".repeat(i % 40)}`);
  lines.splice(450, 0, "long ".repeat(5000));
  for (const [i, line] of lines.entries()) {
    recent.add(`${line}\n`);
    const last = recent.last();
    assert.ok(last.length <= 100);
    assert.equal(last, lines.slice(i + 1 - last.length, i + 1));
    assert.ok(last.length >= Math.min(i + 1, 3), `${last.length} lines at ${i}`);
  }
});

test("a level silences the levels below it", () => {
  const { lines, book } = collect();
  book.log.debug("hidden");
  book.log.level = "debug";
  book.log.debug("shown");
  assert.is(lines.length, 1);
});

test.run();
