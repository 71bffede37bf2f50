import { test } from "uvu";
import * as assert from "uvu/assert";
import { createLiteralScan } from "../../../kernel/stream/literal-scan.ts";

const event = (text: string, count = 1, more = {}) =>
  Buffer.from(JSON.stringify({ at: 5, part: { kind: "delta", text }, usage: { count }, ...more }));

function learned(options = {}) {
  const scan = createLiteralScan("text", options);
  scan.learn(event("first"));
  return scan;
}

test("finds the escaped text of events that are alike", () => {
  const scan = learned();
  for (const text of ["", "plain", 'a "quote"', "back\\slash", "ends with \\", '\\"', "é 😀 \n", '"text":"inside"']) {
    assert.is(scan.match(event(text, 1234))?.toString(), JSON.stringify(text).slice(1, -1));
  }
});

test("doubts everything else", () => {
  const scan = learned();
  assert.is(scan.match(Buffer.from(event("x").toString().replace("delta", "other"))), undefined);
  assert.is(scan.match(event("x", 1, { done: true })), undefined);
  assert.is(scan.match(event("x", -1)), undefined);
  assert.is(scan.match(Buffer.from(event("x").toString().replace('"at":5', '"at":6'))), undefined);
  assert.is(scan.match(event("x").subarray(0, -1)), undefined);
  assert.is(scan.match(event("x").subarray(0, 20)), undefined);
  assert.is(scan.match(Buffer.alloc(0)), undefined);
  assert.is(createLiteralScan("text").match(event("x")), undefined);
});

test("learns only where the key stands once, before a string", () => {
  for (const bad of ['{"text":7}', '{"text":"a","b":{"text":"c"}}', '{"no":1}', '{"text":"open']) {
    const scan = createLiteralScan("text");
    scan.learn(Buffer.from(bad));
    assert.is(scan.match(Buffer.from(bad)), undefined, bad);
  }
  const spaced = createLiteralScan("text");
  spaced.learn(Buffer.from('{ "kind": "text", "text" : "a" }'));
  assert.is(spaced.match(Buffer.from('{ "kind": "text", "text" : "b" }'))?.toString(), "b");
});

test("digits before the text count, unless told otherwise", () => {
  const later = Buffer.from(event("x").toString().replace('"at":5', '"at":61234'));
  assert.is(learned({ digitsBefore: true }).match(later)?.toString(), "x");
});

test("hands out the numbers of the event matched last", () => {
  const scan = learned();
  assert.is(scan.takeLast(), undefined);
  scan.match(event("a", 7));
  scan.match(event("bb", 8));
  assert.equal(JSON.parse(String(scan.takeLast())), { at: 5, part: { kind: "delta", text: "" }, usage: { count: 8 } });
  assert.is(scan.takeLast(), undefined);
});

test.run();
