/** Schemas that would make a check run endlessly, and the messages of checks. */
import { createSchemaCheck, TooMuchText } from "portico/json-schemas";
import * as assert from "uvu/assert";
import { suite } from "../../support/suite.ts";

const test = suite("schemas from outside");

const checkOf = (schema: Record<string, unknown>, limitMs = 200) =>
  createSchemaCheck(schema, { unsupportedPattern: "fails", limitMs });

/** `undefined` where the check gave up. */
function attempt(schema: Record<string, unknown>, value: unknown): number | undefined {
  try {
    return checkOf(schema)(value).length;
  } catch {
    return undefined;
  }
}

test("a check names the place and the keyword of each problem", () => {
  const check = checkOf({
    properties: { pattern: { type: "string", pattern: "^[a-z]+$" }, n: { maximum: 3 } },
  });
  assert.equal(check({ pattern: "abc", n: 3 }), []);
  const problems = check({ pattern: "ABC", n: 4 });
  assert.equal(
    problems
      .filter(({ keyword }) => keyword !== "properties")
      .map((p) => [p.instanceLocation, p.keyword]),
    [
      ["#/pattern", "pattern"],
      ["#/n", "maximum"],
    ],
  );
});

test("two patterns that match the same name both hold", () => {
  const check = checkOf({ patternProperties: { "^x": { type: "number" }, "1$": { minimum: 5 } } });
  assert.equal(check({ x1: 5, y: "free" }), []);
  assert.ok(check({ x1: 4 }).length > 0);
  assert.ok(check({ x1: "5" }).length > 0);
});

test("a check that waits for a processor, as on a busy machine, is repeated", () => {
  const sleepOnce = new Int32Array(new SharedArrayBuffer(4));
  let attempts = 0;
  const value = {
    get name() {
      attempts++;
      if (attempts === 1) Atomics.wait(sleepOnce, 0, 0, 400);
      return "ADA";
    },
  };
  const problems = checkOf({ properties: { name: { pattern: "^[a-z]+$" } } })(value);
  assert.ok(problems.some(({ keyword }) => keyword === "pattern"));
  assert.ok(attempts > 1);
});

test("every schema ends: with problems, without, or by giving up", () => {
  const long = `${"a".repeat(2000)}b`;
  const pattern = `^(?:${"a?".repeat(300)}){30}$`;
  const many = Array.from({ length: 100_000 }, (_, i) => ({ i }));
  let deep: Record<string, unknown> = { pattern };
  for (let i = 0; i < 5000; i++) deep = { anyOf: [deep] };
  attempt({ type: "string", pattern }, long);
  attempt({ patternProperties: { [pattern]: false } }, { [long]: 1 });
  attempt({ propertyNames: { pattern } }, { [long]: 1 });
  attempt({ $ref: "#/$defs/p", $defs: { p: { pattern } } }, long);
  attempt({ not: { pattern } }, long);
  attempt({ if: { pattern }, else: false }, long);
  attempt({ dependentSchemas: { a: { properties: { a: { pattern } } } } }, { a: long });
  attempt(deep, long);
  assert.is(attempt({ $ref: "#" }, 1), undefined);
  assert.is(attempt({ uniqueItems: true }, many), undefined);
  const some = many.slice(0, 1000);
  assert.is(attempt({ enum: some }, some.at(-1)), 0);
});

test("a value with more text than a pattern may check raises TooMuchText", () => {
  const check = checkOf({ pattern: "^a" });
  assert.throws(
    () => check("a".repeat(100_000)),
    (error: unknown) => error instanceof TooMuchText,
  );
  assert.equal(check("a"), []);
});

test.run();
