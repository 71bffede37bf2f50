/** JSON whose whole numbers keep their digits. */
import * as assert from "uvu/assert";
import { ExactNumber, exactJson } from "../../../kernel/text/exact-json.ts";
import { suite } from "../../support/suite.ts";

const test = suite("exact JSON");

test("whole numbers that no double can hold keep their digits at every position", () => {
  for (const digits of [
    "9007199254740993",
    "-9007199254740993",
    "7615917337495251231",
    "18446744073709551615",
    "1".repeat(400),
  ])
    for (const text of [digits, `[${digits}]`, `{"a":${digits},"b":[1,${digits}]}`, ` ${digits}\n`])
      assert.is(exactJson.stringify(exactJson.parse(text)), text.trim(), text);
});

test("everything else is read and written as JSON.parse and JSON.stringify do", () => {
  for (const text of [
    "1",
    "9007199254740991",
    "1e30",
    "12345678901234567890.5",
    "1234567890123456789e2",
    '"9007199254740993"',
    '{"9007199254740993":1}',
    "[1,2.5,-0,null,true]",
    "0.12345678901234567890",
  ]) {
    assert.equal(exactJson.parse(text), JSON.parse(text));
    assert.is(exactJson.stringify(exactJson.parse(text)), JSON.stringify(JSON.parse(text)));
  }
  assert.is(
    exactJson.stringify({ a: [1, { b: "c" }] }, 2),
    '{\n  "a": [\n    1,\n    {\n      "b": "c"\n    }\n  ]\n}',
  );
  assert.is(exactJson.stringify(undefined), undefined);
});

test("invalid JSON is refused, however many digits it has", () => {
  for (const text of [
    "00000000000000000",
    "{9007199254740993:1}",
    "9007199254740993x",
    "[9007199254740993",
  ])
    assert.throws(
      () => exactJson.parse(text),
      (error: unknown) => error instanceof SyntaxError,
      text,
    );
});

test("an exact number converts to its digits as a string, and to the nearest double in arithmetic", () => {
  const number = new ExactNumber("9007199254740993");
  assert.is(`${number}`, "9007199254740992".replace(/2$/, "3"));
  assert.is(Number(number), 9007199254740992);
  assert.is(JSON.stringify({ number }), '{"number":"9007199254740993"}');
  assert.equal(exactJson.toPlain({ a: [number, 1] }), { a: ["9007199254740993", 1] });
  assert.ok(exactJson.isNumber(number));
});

test("a text cannot pass for a number", () => {
  const value = exactJson.parse('{"a":9007199254740993,"b":"exact number 9007199254740993"}');
  assert.is(
    exactJson.stringify(value),
    '{"a":9007199254740993,"b":"exact number 9007199254740993"}',
  );
});

test.run();
