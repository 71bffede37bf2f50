import { compile, isPorticoError, type PorticoError } from "portico";
import { Type } from "@sinclair/typebox";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { ExactNumber } from "../../../kernel/text/exact-json.ts";

const schema = Type.Object({
  model: Type.String({ minLength: 1 }),
  messages: Type.Array(
    Type.Object({
      role: Type.Union([Type.Literal("system"), Type.Literal("user")]),
      content: Type.Union([
        Type.String(),
        Type.Array(Type.Object({ type: Type.String() })),
        Type.Null(),
      ]),
    }),
    { minItems: 1 },
  ),
  stream: Type.Boolean({ default: false }),
  temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })),
  schedule: Type.Optional(
    Type.Union([
      Type.Object({ kind: Type.Literal("cron"), expr: Type.String() }),
      Type.Object({ kind: Type.Literal("every"), everyMs: Type.Integer() }),
    ]),
  ),
  tags: Type.Optional(
    Type.Record(Type.String(), Type.Object({ weight: Type.Number({ default: 1 }) })),
  ),
  key: Type.Optional(
    Type.Union([
      Type.String({ minLength: 4 }),
      Type.Array(Type.String({ minLength: 4 }), { minItems: 1 }),
    ]),
  ),
  workers: Type.Optional(Type.Union([Type.Integer({ minimum: 1 }), Type.Literal("auto")])),
  url: Type.Optional(Type.String({ format: "uri" })),
  at: Type.Optional(Type.String({ format: "date-time" })),
});
const check = compile(schema);
const message = { role: "user", content: "hi" };

test("defaults are filled in, and the input stays unchanged", () => {
  const input = Object.freeze({
    model: "m",
    messages: [message],
    tags: Object.freeze({ a: Object.freeze({}) }),
  });
  assert.equal(check.parse(input), {
    model: "m",
    messages: [message],
    stream: false,
    tags: { a: { weight: 1 } },
  });
  assert.equal(input.tags, { a: {} });
});

test("null counts as absent for an optional member unless the schema allows null, and the input stays unchanged", () => {
  const optional = {
    temperature: null,
    schedule: null,
    tags: null,
    key: null,
    url: null,
    at: null,
    other: null,
  };
  const input = Object.freeze({ model: "m", messages: [message], stream: null, ...optional });
  assert.equal(check.parse(input), { model: "m", messages: [message], stream: false, other: null });
  const content = { ...message, content: null };
  assert.equal(check.parse({ model: "m", messages: [content] }).messages, [content]);
  const deep = compile(
    Type.Object({
      list: Type.Array(Type.Object({ a: Type.Optional(Type.Number()) })),
      either: Type.Union([Type.Literal("x"), Type.Object({ b: Type.Optional(Type.Number()) })]),
      kept: Type.Optional(Type.Union([Type.Number(), Type.Null()])),
      any: Type.Optional(Type.Unknown()),
    }),
  );
  assert.equal(
    deep.parse({ list: [{ a: null }, { a: 1 }], either: { b: null }, kept: null, any: null }),
    {
      list: [{}, { a: 1 }],
      either: {},
      kept: null,
      any: null,
    },
  );
});

test("a valid value without defaults is returned unchanged", () => {
  const message = { role: "user", extra: { id: new ExactNumber("9007199254740993") } };
  const list = compile(
    Type.Object({
      messages: Type.Array(
        Type.Object({ role: Type.String(), name: Type.Optional(Type.String()) }),
      ),
      user: Type.Optional(Type.String()),
    }),
  );
  const input = { messages: [message] };
  assert.is(list.parse(input), input);
});

test("a union's variant gets its defaults", () => {
  const either = compile(
    Type.Union([
      Type.Object({ a: Type.Number(), x: Type.Number({ default: 1 }) }),
      Type.Object({ b: Type.Number(), y: Type.Number({ default: 2 }) }),
    ]),
  );
  assert.equal(either.parse({ b: 5 }), { b: 5, y: 2 });
});

test("unknown keys pass where the schema is open", () => {
  assert.is(
    (check.parse({ model: "m", messages: [message], extra: 1 }) as { extra?: number }).extra,
    1,
  );
});

const faults: [given: unknown, param: string | undefined, says: string][] = [
  [undefined, undefined, "The input is missing."],
  [[], undefined, "The input must be an object, not a list."],
  [{ messages: [message] }, "model", "model is missing."],
  [{ model: "", messages: [message] }, "model", "model must not be empty."],
  [{ model: 5, messages: [message] }, "model", "model must be a string, not a number."],
  [{ model: "m", messages: [] }, "messages", "messages must not be empty."],
  [{ model: "m", messages: "hi" }, "messages", "messages must be a list, not a string."],
  [
    { model: "m", messages: [message, message, { role: "bot", content: "x" }] },
    "messages[2].role",
    'messages[2].role must be "system" or "user", not "bot".',
  ],
  [
    { model: "m", messages: [{ ...message, content: 4 }] },
    "messages[0].content",
    "messages[0].content must be a string, a list or null, not a number.",
  ],
  [
    { model: "m", messages: [{ ...message, content: [{}] }] },
    "messages[0].content[0].type",
    "messages[0].content[0].type is missing.",
  ],
  [{ model: "m", messages: [message], key: "abc" }, "key", "key must have at least 4 characters."],
  [{ model: "m", messages: [message], key: [] }, "key", "key must not be empty."],
  [
    { model: "m", messages: [message], key: ["abc"] },
    "key[0]",
    "key[0] must have at least 4 characters.",
  ],
  [
    { model: "m", messages: [message], key: 5 },
    "key",
    "key must be a string or a list, not a number.",
  ],
  [{ model: "m", messages: [message], workers: 0 }, "workers", "workers must be 1 or more."],
  [
    { model: "m", messages: [message], workers: "all" },
    "workers",
    'workers must be a whole number or "auto", not "all".',
  ],
  [
    { model: "m", messages: [message], temperature: 3 },
    "temperature",
    "temperature must be 2 or less.",
  ],
  [{ model: null, messages: [message] }, "model", "model must be a string, not null."],
  [
    { model: "m", messages: [message], tags: { a: null } },
    "tags.a",
    "tags.a must be an object, not null.",
  ],
  [
    { model: "m", messages: [message], schedule: { kind: "cron" } },
    "schedule.expr",
    "schedule.expr is missing.",
  ],
  [
    { model: "m", messages: [message], schedule: { kind: "every", everyMs: 1.5 } },
    "schedule.everyMs",
    "schedule.everyMs must be a whole number, not 1.5.",
  ],
  [
    { model: "m", messages: [message], schedule: { kind: "at" } },
    "schedule.kind",
    'schedule.kind must be "cron" or "every".',
  ],
  [
    { model: "m", messages: [message], schedule: 5 },
    "schedule",
    "schedule must be an object, not a number.",
  ],
  [
    { model: "m", messages: [message], tags: { "0": 5 } },
    "tags.0",
    "tags.0 must be an object, not a number.",
  ],
  [
    { model: "m", messages: [message], tags: { "a b": 5 } },
    'tags["a b"]',
    'tags["a b"] must be an object, not a number.',
  ],
  [{ model: "m", messages: [message], url: "nowhere" }, "url", "url must be a valid uri."],
  [{ model: "m", messages: [message], at: "soon" }, "at", "at must be a valid date-time."],
];

for (const [input, param, title] of faults) {
  test(title, () => {
    try {
      check.parse(input);
    } catch (error) {
      assert.ok(isPorticoError(error));
      const { code, status, message: text, param: at } = error as PorticoError;
      assert.equal([code, status, text, at], ["invalid_request_error", 400, title, param]);
      return;
    }
    assert.unreachable("it was taken");
  });
}

test("a wrong value that may be a secret is not repeated", () => {
  const closed = compile(Type.Object({ mode: Type.Union([Type.Literal("a"), Type.Literal("b")]) }));
  try {
    closed.parse({ mode: "sk-0123456789abcdef0123456789abcdef" });
    assert.unreachable();
  } catch (error) {
    assert.is((error as Error).message, 'mode must be "a" or "b", not that text.');
  }
});

test("a prototype cannot be set through a map", () => {
  const map = compile(
    Type.Object({
      m: Type.Record(Type.String(), Type.Object({ x: Type.Optional(Type.Number({ default: 1 })) })),
    }),
  );
  const value = map.parse(JSON.parse('{"m":{"__proto__":{},"a":{}}}')) as {
    m: Record<string, unknown>;
  };
  assert.is(value.m["x"], undefined);
  assert.is(Object.getPrototypeOf(value.m), Object.prototype);
});

test.run();
