/** echo's values for schemas: each is accepted by its schema, and a schema for which none is made is a clear 400. */
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";

const test = suite("smallest values");
let gateway: InProcessGateway;
test.before(async () => {
  gateway = await startGateway();
});
test.after(() => gateway?.stop());

async function ask(schema: unknown): Promise<{ value?: unknown; error?: any; status: number }> {
  const response = await gateway.request("POST", "/v1/chat/completions", {
    model: "echo",
    messages: [{ role: "user", content: "Hi" }],
    response_format: { type: "json_schema", json_schema: { name: "n", schema } },
  });
  const { choices, error } = (await response.json()) as any;
  const value = choices && JSON.parse(choices[0].message.content);
  return { status: response.status, value, error };
}

/** An object schema in which all of these members are required. */
const object = (properties: Record<string, unknown>, more: object = {}) => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  ...more,
});

test("the schema accepts the value that is made for it", async () => {
  const ajv = new Ajv2020({ strict: false });
  (addFormats as unknown as (ajv: Ajv2020) => void)(ajv);
  const node = object({
    v: { const: 1 },
    next: { anyOf: [{ $ref: "#/$defs/n" }, { type: "null" }] },
  });
  const rows: [schema: unknown, value: unknown][] = [
    [{}, {}],
    [{ type: "object", properties: { a: { type: "string" } } }, {}],
    [object({ a: { type: "string" }, b: { enum: ["x", "y"] } }), { a: "", b: "x" }],
    [
      object({ a: { const: { deep: [1] } }, b: { type: "boolean" }, c: { type: "null" } }),
      { a: { deep: [1] }, b: false, c: null },
    ],
    [
      object({
        n: { type: "integer", minimum: 7, multipleOf: 5 },
        m: { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1 },
        k: { type: "number", maximum: -2 },
      }),
      { n: 10, m: 0.5, k: -2 },
    ],
    [
      object({
        i: { type: "integer", exclusiveMinimum: 4 },
        j: { type: "integer", exclusiveMaximum: 0 },
        k: { type: "integer", minimum: 1, multipleOf: 1.5 },
      }),
      { i: 5, j: -1, k: 3 },
    ],
    [
      object({
        s: { type: "string", minLength: 3, maxLength: 4 },
        t: { type: ["string", "null"] },
      }),
      { s: "aaa", t: "" },
    ],
    [
      object({ l: { type: "array", items: { type: "integer", minimum: 2 }, minItems: 2 } }),
      { l: [2, 2] },
    ],
    [
      object({
        t: { type: "array", prefixItems: [{ type: "string" }, { type: "number" }], minItems: 2 },
      }),
      { t: ["", 0] },
    ],
    [object({ u: { anyOf: [{ const: "left" }, { type: "number" }] } }), { u: "left" }],
    [object({ a: { type: "integer" } }, { additionalProperties: false }), { a: 0 }],
    [{ type: "object", required: ["x"], additionalProperties: { type: "integer" } }, { x: 0 }],
    [{ type: "object", minProperties: 1, properties: { a: { type: "string" } } }, { a: "" }],
    [{ type: "string", enum: [1, "a"] }, "a"],
    [{ anyOf: [false, { type: "array" }] }, []],
    [
      {
        allOf: [
          object({ a: { type: "integer" } }),
          object({ a: { minimum: 2 }, b: { type: "string" } }),
        ],
      },
      { a: 2, b: "" },
    ],
    [
      object({ a: { $ref: "#/$defs/n", minimum: 5 } }, { $defs: { n: { type: "integer" } } }),
      { a: 5 },
    ],
    [
      { $ref: "#/$defs/n", $defs: { n: node } },
      { v: 1, next: null },
    ],
    [{ type: "string", not: { const: "x" } }, ""],
    [{ type: "string", pattern: "^a*$" }, ""],
  ];
  for (const [schema, expected] of rows) {
    const { value, error } = await ask(schema);
    assert.equal(value, expected, `${JSON.stringify(schema)}: ${error?.message}`);
    assert.ok(ajv.validate(schema as object, value), JSON.stringify(schema));
  }
  for (const format of [
    "date-time",
    "date",
    "time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uuid",
  ]) {
    const { value, error } = await ask({ type: "string", format });
    assert.ok(ajv.validate({ type: "string", format }, value), `${format}: ${error?.message}`);
  }
});

test("a schema that no value is made for is 400, and says why", async () => {
  const param = "response_format.json_schema.schema";
  const schemas: unknown[] = [
    { type: "string", pattern: "^[A-Z]{3}\\d+$" },
    { type: "string", pattern: "[" },
    { type: "integer", minimum: 2, maximum: 1 },
    { type: "number", exclusiveMinimum: 1, exclusiveMaximum: 1 },
    { type: "integer", not: { const: 0 } },
    object({ a: { not: {} } }),
    object({ a: false }),
    { type: "object", required: ["x"], additionalProperties: false },
    { allOf: [{ type: "string" }, { type: "integer" }] },
    { type: "array", minItems: 2, uniqueItems: true },
    { type: "string", minLength: 3, maxLength: 2 },
    { oneOf: [{ type: "number" }, { type: "integer" }] },
    { type: "integer", enum: ["a"] },
    object({ me: { $ref: "#" } }, {}),
    { $ref: "#/$defs/gone" },
    { $ref: "https://example.com/schema" },
    { anyOf: [] },
  ];
  for (const schema of schemas) {
    const { status, error, value } = await ask(schema);
    assert.equal(
      [status, error?.code, error?.param],
      [400, "invalid_request_error", param],
      `${JSON.stringify(schema)}: ${JSON.stringify(value)}`,
    );
    assert.match(error.message, /echo cannot create a value for this schema: \S/);
  }
});

test("a tool's arguments are made in the same way", async () => {
  const call = (parameters: object) =>
    gateway.request("POST", "/v1/chat/completions", {
      model: "echo",
      messages: [{ role: "user", content: "use find" }],
      tools: [{ type: "function", function: { name: "find", parameters } }],
    });
  const response = (await (
    await call(object({ city: { type: "string", minLength: 1 } }))
  ).json()) as any;
  assert.is(response.choices[0].message.tool_calls[0].function.arguments, '{"city":"a"}');
  const refused = await call(object({ code: { type: "string", pattern: "^\\d+$" } }));
  const { error } = (await refused.json()) as any;
  assert.equal([refused.status, error.param], [400, "tools[0].function.parameters"]);
});

test.run();
