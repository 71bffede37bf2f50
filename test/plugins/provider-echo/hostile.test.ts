/** Schemas, names and texts that ask echo for more than it should do. */
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { smallestValue } from "../../../plugins/provider-echo/schema-value.ts";
import { wordsOf } from "../../../plugins/provider-echo/words.ts";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { assertLinear } from "../../support/growth.ts";
import { contentOf } from "../../support/upstreams/upstream.ts";

const test = suite("hostile echo");
let gateway: InProcessGateway;
test.before(async () => {
  gateway = await startGateway();
});
test.after(() => gateway?.stop());

async function ask(body: object) {
  const messages = [{ role: "user", content: "Hi" }];
  const response = await gateway.request("POST", "/v1/chat/completions", {
    model: "echo",
    messages,
    ...body,
  });
  return { status: response.status, json: (await response.json()) as any };
}
const withSchema = (schema: object) =>
  ask({
    tools: [
      {
        type: "function",
        function: { name: "t", parameters: { type: "object", required: ["a"], ...schema } },
      },
    ],
    tool_choice: "required",
  });
const property = (a: object) => withSchema({ properties: { a } });

test("tools and choices that name nothing to call are refused with their place", async () => {
  const tools = [{ type: "function", function: { name: "t" } }];
  const rows: [body: object, param: string][] = [
    [{ tools: [{ type: "gadget", function: { name: "t" } }] }, "tools[0].type"],
    [{ tools: [...tools, { function: { name: "u" } }] }, "tools[1].type"],
    [
      { tools, tool_choice: { type: "function", function: { name: "u" } } },
      "tool_choice.function.name",
    ],
    [{ tools, tool_choice: "sometimes" }, "tool_choice"],
    [{ tool_choice: "required" }, "tool_choice"],
  ];
  for (const [body, param] of rows) {
    const { status, json } = await ask(body);
    assert.equal([status, json.error.param], [400, param], JSON.stringify(body));
  }
});

test("a pattern that backtracks without end delays no other request", async () => {
  const patterns = ["^(a+)+b$", "^(a|a)*$b", "(a*a*)*b", "(?=(a+)+b)", "(a*)*\\1b", "[", "("];
  for (const pattern of patterns)
    assert.is((await property({ type: "string", minLength: 40, pattern })).status, 400, pattern);
  const names = Array.from({ length: 300 }, (_, i) => `a${i}`);
  const many = Object.fromEntries(
    names.map((name) => [name, { type: "string", minLength: 40, pattern: "^(a+)+b$" }]),
  );
  assert.is((await withSchema({ properties: many, required: names })).status, 400);
});

/** V8 does not notice its time limit in these for minutes. */
const UNINTERRUPTIBLE = [
  `(${"a?".repeat(3000)}){50}b{1000}`,
  `(${"a?".repeat(100)}){50}b{1000}`,
  `(${"a?".repeat(400)})*b`,
  `^(?:${"a?".repeat(300)}){30}$`,
  "^(?:[a-z]{1,50}[0-9]{1,50}){1,20}$",
];

test("a pattern that V8 cannot interrupt is never given to V8", async () => {
  const text = { type: "string", minLength: 5000 };
  for (const pattern of UNINTERRUPTIBLE) {
    const shapes: object[] = [
      { ...text, pattern },
      { allOf: [{ $ref: "#/$defs/p" }, text], $defs: { p: { pattern } } },
      { type: "array", minItems: 3, items: { ...text, pattern } },
      { type: "object", required: ["a".repeat(3000)], patternProperties: { [pattern]: false } },
      { type: "object", required: ["a".repeat(3000)], propertyNames: { pattern } },
      { type: "object", properties: { pattern: { ...text, pattern } }, required: ["pattern"] },
    ];
    for (const schema of shapes) {
      const { status } = await property(schema);
      assert.ok(
        [200, 400].includes(status),
        `${status} for ${JSON.stringify(schema).slice(0, 99)}`,
      );
    }
  }
  assert.is((await ask({})).status, 200);
});

test("patterns keep their meaning", async () => {
  const rows: [number, object][] = [
    [200, { type: "string", minLength: 3, pattern: "^a+$" }],
    [400, { type: "string", minLength: 3, pattern: "^b+$" }],
    [200, { type: "string", minLength: 1, pattern: "\\u0061" }],
    [200, { type: "string", enum: ["a.c"], pattern: "^a\\.c$" }],
    [400, { type: "string", enum: ["abc"], pattern: "^a\\.c$" }],
    [400, { type: "string", not: { pattern: "" } }],
    [200, { type: "string", const: "x\n(y)", pattern: "\\(y\\)" }],
    [200, { type: "object", properties: { pattern: { type: "string" } }, required: ["pattern"] }],
    [200, { type: "object", required: ["x1"], patternProperties: { "^x": { type: "null" } } }],
    [
      400,
      {
        type: "object",
        required: ["y1"],
        patternProperties: { "^x": {} },
        additionalProperties: false,
      },
    ],
    [
      400,
      {
        type: "object",
        required: ["x1"],
        patternProperties: { "^x": {}, "1$": { type: "number" } },
      },
    ],
    [
      200,
      { type: "object", properties: { secret: { type: "string", pattern: "^(?=.*[A-Z]).+$" } } },
    ],
    [400, { type: "string", pattern: "^(?=.*[a-z]).+$", minLength: 2 }],
  ];
  for (const [status, schema] of rows)
    assert.is((await property(schema)).status, status, JSON.stringify(schema));
});

test("values that would be large are refused with the schema's place", async () => {
  const large: object[] = [
    { type: "array", minItems: 1e9 },
    { type: "array", minItems: 1e308 },
    { type: "string", minLength: 5e8 },
    { type: "object", minProperties: 1e9 },
    {
      type: "array",
      minItems: 900,
      items: { type: "array", minItems: 900, items: { type: "string", minLength: 900 } },
    },
  ];
  for (const schema of large) {
    const { status, json } = await property(schema);
    assert.equal(
      [status, json.error.param],
      [400, "tools[0].function.parameters"],
      JSON.stringify(schema),
    );
  }
  const format = (schema: object) =>
    ask({ response_format: { type: "json_schema", json_schema: { name: "n", schema } } });
  for (const schema of large) {
    const { status, json } = await format(schema);
    assert.equal([status, json.error.param], [400, "response_format.json_schema.schema"]);
  }
  const twice = {
    type: "object",
    properties: { l: { $ref: "#" }, r: { $ref: "#" } },
    required: ["l", "r"],
  };
  assert.is((await format(twice)).status, 400);
  const long = "x".repeat(100_000);
  const items = { $ref: "#/$defs/long" };
  assert.is(
    (await format({ $defs: { long: { const: long } }, type: "array", minItems: 1000, items }))
      .status,
    400,
  );
});

test("an endlessly nested schema is not a failure of the gateway", async () => {
  const nested = "[".repeat(20_000) + "]".repeat(20_000);
  for (const schema of [
    `{"const":${nested}}`,
    `{"enum":[${nested},1]}`,
    `{"not":${nested}}`,
    `{"default":${nested}}`,
  ]) {
    const format = `{"type":"json_schema","json_schema":{"name":"n","schema":${schema}}}`;
    const body = `{"model":"echo","messages":[{"role":"user","content":"Hi"}],"response_format":${format}}`;
    const { status } = await gateway.request("POST", "/v1/chat/completions", body);
    assert.ok([200, 400].includes(status), `${status} for ${schema.slice(0, 12)}`);
  }
});

test("broken references are not a failure of the gateway", async () => {
  for (const $ref of ["#/%E0%A4%A", "#/~2", "#/a/b/c", "http://x", "#/__proto__/x", "#"])
    assert.is((await property({ $ref })).status, 400, $ref);
});

test("schemas of any size take time in proportion", async () => {
  const names = (n: number) => Array.from({ length: n }, (_, i) => `p${i}`);
  const items = (n: number, schema: object) => ({ type: "array", minItems: n, items: schema });
  const attempt = (schema: object) => {
    try {
      smallestValue(schema, "schema");
    } catch (error) {
      assert.is((error as { status?: number }).status, 400);
    }
  };
  const shapes: ((n: number) => object)[] = [
    (n) => ({ allOf: names(n).map((name) => ({ properties: { [name]: {} }, required: [name] })) }),
    (n) => ({
      type: "object",
      required: names(n),
      properties: Object.fromEntries(names(n).map((name) => [name, { anyOf: [{}] }])),
    }),
    (n) => ({
      $defs: {
        all: { anyOf: [{}], properties: Object.fromEntries(names(n).map((name) => [name, {}])) },
      },
      type: "object",
      required: names(n),
      additionalProperties: { $ref: "#/$defs/all" },
    }),
    (n) => ({ type: "string", pattern: "(a+)+".repeat(n) }),
    (n) => ({ allOf: [{ type: names(n) }, { type: names(n).map((name) => `${name}y`) }] }),
    (n) => ({ const: "a".repeat(20 * n), allOf: names(n).map(() => ({ minLength: 1 })) }),
    (n) => items(n, { type: "integer", not: { enum: names(n) } }),
    (n) => items(n, { type: "integer", not: { type: names(n) } }),
    (n) =>
      items(n, {
        type: "object",
        dependentRequired: Object.fromEntries(names(n).map((name) => [name, []])),
      }),
    (n) => items(n, { type: "string", pattern: "a".repeat(20 * n) }),
    (n) => items(n, { type: "string", pattern: "(((((((a|b)|c)|d)|e)|f)|g)|hh)$" }),
    (n) => ({
      type: "object",
      required: names(n),
      patternProperties: Object.fromEntries(names(n).map((name) => [`^${name}$`, {}])),
    }),
    (n) => ({ type: "string", minLength: 20 * n, pattern: "(a?){180}[yz]" }),
  ];
  for (const [i, shape] of shapes.entries()) assertLinear(`schema ${i}`, 500, shape, attempt);
});

test("words of any kind and number are cut in linear time", async () => {
  const texts: ((n: number) => string)[] = [
    (n) => "a ".repeat(n),
    (n) => " ".repeat(n),
    (n) => "a".repeat(n),
    (n) => "😀".repeat(n),
    (n) => `${" ".repeat(n)}a`,
  ];
  for (const text of texts) {
    assert.is([...wordsOf(text(50_000))].join(""), text(50_000));
    assertLinear(JSON.stringify(text(2)), 50_000, text, (result) => [...wordsOf(result)]);
  }
  assert.not.ok([...wordsOf("😀".repeat(50_000))].some((word) => /^[\udc00-\udfff]/.test(word)));
});

test("megabytes of words are returned, and other requests are answered meanwhile", async () => {
  const content = "word ".repeat(400_000);
  const body = { model: "echo", stream: true, messages: [{ role: "user", content }] };
  const large = gateway
    .request("POST", "/v1/chat/completions", body)
    .then((response) => response.text());
  let ended = false;
  void large.then(() => {
    ended = true;
  });
  let responses = 0;
  while (!ended) {
    assert.is((await ask({})).status, 200);
    responses++;
  }
  assert.ok(responses > 3, `${responses} while it went`);
  assert.is(contentOf(await large), content);
  assert.is((await ask({ n: 128, messages: body.messages })).json.error.param, "n");
});

test("thousands of tools and a long message are searched in bounded time", async () => {
  const tools = Array.from({ length: 20_000 }, (_, i) => ({
    type: "function",
    function: { name: `t-${i}` },
  }));
  assert.is(
    (await ask({ tools, messages: [{ role: "user", content: "t- ".repeat(500_000) }] })).status,
    200,
  );
});

test("unknown parts and results of no call are refused with their place", async () => {
  const user = { role: "user", content: "Hi" };
  const rows: [object[], string][] = [
    [
      [
        {
          role: "user",
          content: [
            { type: "text", text: "a" },
            { type: "video", video: {} },
          ],
        },
      ],
      "messages[0].content[1].type",
    ],
    [[{ role: "user", content: [{ type: "document" }] }], "messages[0].content[0].type"],
    [[user, { role: "tool", content: "42" }], "messages[1].tool_call_id"],
    [[user, { role: "tool", content: "42", tool_call_id: "" }], "messages[1].tool_call_id"],
  ];
  for (const [messages, param] of rows) {
    for (const stream of [false, true]) {
      const { status, json } = await ask({ messages, stream });
      assert.equal([status, json.error.param], [400, param], JSON.stringify(messages));
    }
  }
});

test.run();
