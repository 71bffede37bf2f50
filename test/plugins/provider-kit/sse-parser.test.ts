import { createSseParser } from "../../../plugins/provider-kit/stream/sse-parser.ts";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";

function parse(text: string | Buffer, size: number): string[] {
  const bytes = Buffer.from(text);
  const out: string[] = [];
  const parser = createSseParser((data, event) => out.push(`${event}|${data}`));
  for (let at = 0; at < bytes.length; at += size) parser.push(bytes.subarray(at, at + size));
  parser.end();
  return out;
}

const endings = { lf: "\n", crlf: "\r\n", cr: "\r" };
for (const [name, nl] of Object.entries(endings)) {
  test(`reads events with ${name} line ends, cut anywhere`, () => {
    const text = [
      ": hi",
      'data: {"a":1}',
      "",
      "event: x",
      "id: 7",
      "data:1",
      "data: 2",
      "data",
      "",
      "data: é😀",
      "",
      "",
    ].join(nl);
    const expected = ['message|{"a":1}', "x|1\n2\n", "message|é😀"];
    for (let size = 1; size <= Buffer.byteLength(text); size++)
      assert.equal(parse(text, size), expected, `cut at ${size}`);
  });
}

test("drops a byte order mark, hands on an event without its blank line, ignores unknown fields", () => {
  assert.equal(parse("\ufeffdata: a\nretry: 5\ndatax: no\n\ndata: [DONE]", 1000), [
    "message|a",
    "message|[DONE]",
  ]);
});

test("reports comments", () => {
  const comments: string[] = [];
  const parser = createSseParser(
    () => {},
    (comment) => comments.push(comment.toString()),
  );
  parser.push(Buffer.from(": one\n:two\n\n"));
  assert.equal(comments, [" one", "two"]);
});

test("an event of 10 MB in small pieces is copied a few times at most, not again with each piece", () => {
  const big = `data: ${"x".repeat(10 * 1024 * 1024)}\n\n`;
  const { copy } = Buffer.prototype;
  let copied = 0;
  Buffer.prototype.copy = function (this: Buffer, ...args: Parameters<Buffer["copy"]>) {
    const size = copy.apply(this, args);
    copied += size;
    return size;
  };
  try {
    const out = parse(big, 1024);
    assert.is(out[0]?.length, 10 * 1024 * 1024 + "message|".length);
  } finally {
    Buffer.prototype.copy = copy;
  }
  assert.ok(copied < 3 * big.length, `${copied} bytes`);
});

test("an object without a field's name is data, on one line or several, cut anywhere", () => {
  for (const nl of Object.values(endings)) {
    const text = [
      "data: a",
      "",
      '{"error":{"code":1}}',
      "",
      ": x",
      "{",
      ' "error": 2',
      "}",
      "",
      "x{",
      "",
      "",
    ].join(nl);
    const expected = ["message|a", 'message|{"error":{"code":1}}', 'message|{\n "error": 2\n}'];
    for (let size = 1; size <= text.length; size++)
      assert.equal(parse(text, size), expected, `cut at ${size}`);
  }
  assert.equal(parse('data: {"a":1\n{"b":2}\n\n', 5), ['message|{"a":1']);
});

test.run();
