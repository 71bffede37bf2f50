/** echo's arguments: whatever keyword a tool's schema has, the value made for it is accepted. */
import * as assert from "uvu/assert";
import { smallest } from "../../../plugins/provider-echo/smallest-value.ts";
import { suite } from "../../support/suite.ts";

const test = suite("smallest values");

test("a pattern is met", () => {
  const patterns = [
    "^[A-Z]{3}\\d+$",
    "^\\d{4}-\\d{2}-\\d{2}$",
    "^[a-z]+@[a-z]+\\.com$",
    "^(foo|bar)-[0-9]{2,4}$",
    "^https?:\\/\\/[^/\\s]+",
    "^\\+?[1-9]\\d{1,14}$",
    "^#[0-9a-fA-F]{6}$",
    "^(\\d+)(px|em|%)$",
    "^\\p{Lu}\\p{L}+$",
    "^v\\d+\\.\\d+\\.\\d+(?:-[\\w.]+)?$",
    "^\\$[0-9]",
    "^(?:[01]\\d|2[0-3]):[0-5]\\d$",
    "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
    "^(?<year>\\d{4})-\\k<year>$",
    "^(a|b)\\1c$",
    "\\bfoo\\b",
    "^[^\\s@]+@[^\\s@]+\\.[^\\s@]+$",
    "^(?!x).+$",
    "^(?=.*[A-Z])(?=.*\\d).{8,}$",
    "^[^a-zA-Z0-9]{2}$",
    "^[\\]\\-x]$",
    "^[-+]?\\.\\x41\\u0042\\t$",
    "^é+$",
    "x$|^y",
    "a{2,}?b*$",
    "[",
  ];
  for (const pattern of patterns) {
    const made = String(smallest({ type: "string", pattern }));
    if (pattern !== "[") assert.match(made, new RegExp(pattern, "u"), pattern);
  }
});

test("what links to more of itself ends where it may", () => {
  const link = (next: unknown) => ({
    type: "object",
    properties: { v: { type: "integer" }, next },
    required: ["v", "next"],
  });
  const end = { type: "null" };
  const own = { $ref: "#/$defs/node" };
  const rows: [object, unknown][] = [
    [
      { $defs: { node: link({ anyOf: [own, end] }) }, ...own },
      { v: 0, next: null },
    ],
    [
      { $defs: { node: link({ oneOf: [{ allOf: [own] }, end] }) }, allOf: [own] },
      { v: 0, next: null },
    ],
    [link({ anyOf: [{ $ref: "#" }, end] }), { v: 0, next: null }],
    [link({ anyOf: [link({ $ref: "#" }), end] }), { v: 0, next: null }],
    [
      link({ anyOf: [{ type: "array", minItems: 1, items: { $ref: "#" } }, end] }),
      { v: 0, next: null },
    ],
    [link({ type: "array", items: { $ref: "#" } }), { v: 0, next: [] }],
    // through another, which may end by itself
    [
      {
        $defs: {
          a: link({ anyOf: [{ $ref: "#/$defs/b" }, end] }),
          b: link({ anyOf: [{ $ref: "#/$defs/a" }, end] }),
        },
        $ref: "#/$defs/a",
      },
      { v: 0, next: { v: 0, next: null } },
    ],
    // what does not lead back keeps its turn
    [
      { $defs: { other: link(end) }, ...link({ anyOf: [{ $ref: "#/$defs/other" }, end] }) },
      { v: 0, next: { v: 0, next: null } },
    ],
  ];
  for (const [schema, value] of rows) assert.equal(smallest(schema), value, JSON.stringify(schema));
  // each of which holds two of the next: nobody has to go through all of them
  const defs = Object.fromEntries(
    Array.from({ length: 60 }, (_, i) => [
      `d${i}`,
      S({ a: { $ref: `#/$defs/d${i + 1}` }, b: { $ref: `#/$defs/d${i + 1}` } }),
    ]),
  );
  assert.is(smallest({ $defs: { ...defs, d60: end }, anyOf: [end, { $ref: "#/$defs/d0" }] }), null);
});

test("a pattern is met together with a length", () => {
  const wanted: [string, number, number?][] = [
    ["^[A-Z]{2}-\\d{4}$", 7],
    ["^\\S+$", 5],
    ["^ORD-[0-9]+$", 10],
    ["^[a-z]+$", 4, 5],
    ["^[a-z]{2,3}(-[a-z]{2,8})*$", 9],
    ["foo", 7],
    ["\\$", 3],
  ];
  for (const [pattern, minLength, maxLength] of wanted) {
    const made = String(smallest({ type: "string", pattern, minLength, maxLength }));
    assert.match(made, new RegExp(pattern), pattern);
    assert.ok(
      made.length >= minLength && made.length <= (maxLength ?? made.length),
      `${pattern}: ${made}`,
    );
  }
});

const S = (properties: Record<string, unknown>, more: object = {}) => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  ...more,
});

test("every keyword that narrows is minded", () => {
  const table: [object, unknown][] = [
    [{ type: "string", enum: [1, "a"] }, "a"],
    [{ type: "integer", enum: [1, 5], minimum: 3 }, 5],
    [{ allOf: [{ type: "integer", minimum: 3 }, { minimum: 2 }] }, 3],
    [{ properties: { a: { minLength: 2 } }, allOf: [S({ a: { type: "string" } })] }, { a: "aa" }],
    [{ type: "string", anyOf: [{ type: "integer" }, { minLength: 2 }] }, "aa"],
    [{ oneOf: [{ type: "number" }, { type: "integer" }] }, 0.5],
    [S({ a: {} }, { anyOf: [{ required: ["b"] }] }), { a: "", b: null }],
    [
      S({ b: {} }, { oneOf: [{ required: ["a"], not: { required: ["b"] } }, { required: ["b"] }] }),
      { b: "", a: null },
    ],
    [
      S(
        { m: { enum: ["a", "b"] } },
        { if: { properties: { m: { const: "c" } } }, else: { required: ["x"] } },
      ),
      { m: "a", x: null },
    ],
    [S({ a: {} }, { dependentRequired: { a: ["b"], b: ["c"] } }), { a: "", b: null, c: null }],
    [{ type: "array", contains: { const: 3 }, minContains: 2 }, [3, 3]],
    [
      { type: "object", required: ["x_a"], patternProperties: { "^x_": { type: "integer" } } },
      { x_a: 0 },
    ],
    [{ type: "object", minProperties: 1, propertyNames: { pattern: "^[A-Z]$" } }, { A: null }],
    [{ type: "array", items: { type: "boolean" }, minItems: 2, uniqueItems: true }, [false, true]],
    [
      { type: "array", items: { enum: ["a", "b", "c"] }, minItems: 2, uniqueItems: true },
      ["a", "b"],
    ],
    [
      { type: "array", items: { type: "integer", maximum: 0 }, minItems: 2, uniqueItems: true },
      [0, -1],
    ],
    [
      { type: "array", items: S({ id: { type: "integer" } }), minItems: 2, uniqueItems: true },
      [{ id: 0 }, { id: 1 }],
    ],
    [{ type: "integer", multipleOf: 1.5, minimum: 1 }, 3],
    [{ type: "integer", not: { const: 0 } }, 1],
    [{ type: "string", not: { enum: ["", "a"] } }, "b"],
    [S({ a: { $ref: "#/$defs/n", minimum: 5 } }, { $defs: { n: { type: "integer" } } }), { a: 5 }],
    [{ type: "string", format: "date-time", minLength: 25 }, "1970-01-01T00:00:00.0000Z"],
    [{ type: "string", format: "email", minLength: 10 }, "aaaaa@b.co"],
    [{ type: "string", format: "email", maxLength: 10 }, "a@b.co"],
  ];
  for (const [schema, value] of table)
    assert.equal(smallest(schema), value, JSON.stringify(schema));
});

test("what nothing fits gets a value that comes near, and soon", () => {
  assert.equal(smallest({ type: "integer", minimum: 2, maximum: 1 }), 2);
  assert.equal(smallest(S({ a: { not: {} } })), { a: "" });
  assert.is(smallest({ allOf: [{ type: "string" }, { type: "integer" }] }), null);
});

test.run();
