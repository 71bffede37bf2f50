import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { formatKeyPath, parseKeyPath, valueAt } from "../../../kernel/text/key-path.ts";

const pairs: [string, (string | number)[]][] = [
  ["gateway.port", ["gateway", "port"]],
  ["messages[2].role", ["messages", 2, "role"]],
  ["[0][1]", [0, 1]],
  ['channels["my.own"].baseUrl', ["channels", "my.own", "baseUrl"]],
  ['a["say \\"x\\""]', ["a", 'say "x"']],
  ["headers.x-api-key", ["headers", "x-api-key"]],
];
for (const [text, path] of pairs) {
  test(`${text} goes both ways`, () => {
    assert.equal(parseKeyPath(text), path);
    assert.is(formatKeyPath(path), text);
  });
}

test("an invalid path is refused", () => {
  for (const text of ["", ".", "a..b", "a[", "a[x]", "a b", ".a", "a."])
    assert.throws(() => parseKeyPath(text), /key/, text);
});

test("only own properties are read", () => {
  assert.is(valueAt({ a: [{ b: 1 }] }, ["a", 0, "b"]), 1);
  assert.is(valueAt({}, ["constructor"]), undefined);
  assert.is(valueAt({}, ["__proto__", "toString"]), undefined);
  assert.is(valueAt("text", ["length"]), undefined);
});

test.run();
