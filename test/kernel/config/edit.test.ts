import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { isPorticoError } from "portico";
import { setInText, unsetInText } from "../../../kernel/config/json5/edit.ts";
import { parse, plainValue } from "../../../kernel/config/json5/parse.ts";

const CHANNELS = `{
  channels: {
    main:   { provider: "openai", apiKey: "\${OPENAI_API_KEY}" },                 // any OpenAI-format server: + baseUrl
    claude: { provider: "anthropic", apiKey: "\${ANTHROPIC_API_KEY}", models: ["claude-*"] },
    spare:  { provider: 'openai', baseUrl: "http://127.0.0.1:8000/v1", models: ["gpt-4o"], priority: -1, weight: 2 },
  },
  models: {
    fast:  "main/gpt-4o-mini",
    smart: { targets: ["claude/claude-sonnet-4-5", "main/gpt-4o"], strategy: "fallback" },   // or "weighted"
  },
}
`;

test("replaces a value and touches nothing else", () => {
  const changed = setInText(CHANNELS, ["channels", "spare", "weight"], 5);
  assert.is(changed, CHANNELS.replace("weight: 2", "weight: 5"));
});

test("adds to an object that stands on one line", () => {
  const changed = setInText(CHANNELS, ["channels", "main", "weight"], 5);
  assert.is(changed, CHANNELS.replace('_KEY}" },  ', '_KEY}", weight: 5 },  '));
});

test("adds to an object that stands on several lines, behind a comment", () => {
  const changed = setInText(CHANNELS, ["models", "cheap"], "spare/gpt-4o");
  assert.is(
    changed,
    CHANNELS.replace('// or "weighted"\n', '// or "weighted"\n    cheap: "spare/gpt-4o",\n'),
  );
});

test("creates the missing objects of a path", () => {
  const changed = setInText(CHANNELS, ["gateway", "auth", "token"], "t");
  assert.is(
    changed,
    CHANNELS.replace(/\}\n$/, '  gateway: {\n    auth: {\n      token: "t",\n    },\n  },\n}\n'),
  );
});

test("gives an empty file plain JSON", () => {
  const changed = setInText("", ["gateway", "port"], 0);
  assert.equal(JSON.parse(changed), { gateway: { port: 0 } });
});

test("keeps a file plain JSON that was plain JSON", () => {
  const before = '{\n\t"a": {\n\t\t"b": 1\n\t}\n}';
  const changed = setInText(setInText(before, ["a", "c"], [1, { d: 2 }]), ["e"], "f");
  assert.equal(JSON.parse(changed), { a: { b: 1, c: [1, { d: 2 }] }, e: "f" });
  assert.match(changed, '\n\t\t"b": 1,\n\t\t"c": [');
  assert.equal(JSON.parse(unsetInText(unsetInText(changed, ["e"]), ["a", "c"])), { a: { b: 1 } });
});

test("writes after a comment in a file with nothing else", () => {
  const changed = setInText("// mine\n", ["a"], 1);
  assert.match(changed, /^\/\/ mine\n\{/);
  assert.equal(plainValue(parse(changed)), { a: 1 });
});

test("keeps comments within an empty object", () => {
  const changed = setInText("{\n  // nothing yet\n}\n", ["a"], 1);
  assert.is(changed, '{\n  // nothing yet\n  "a": 1\n}\n');
});

test("an object replaces an object member by member", () => {
  const changed = setInText(CHANNELS, ["models"], {
    smart: { targets: ["x/y"], strategy: "fallback" },
  });
  assert.match(
    changed,
    '    smart: { targets: ["x/y"], strategy: "fallback" },   // or "weighted"',
  );
  assert.not.match(changed, "fast");
});

test("a reference stays when its resolved value is written back", () => {
  const meaning = { provider: "openai", apiKey: "sk-1" };
  const changed = setInText(CHANNELS, ["channels", "main"], { ...meaning, weight: 3 }, meaning);
  assert.match(changed, 'apiKey: "${OPENAI_API_KEY}", weight: 3 }');
  const list = setInText('{ keys: ["${A}", "${B}"] }', ["keys"], ["a", "b", "c"], ["a", "b"]);
  assert.is(list, '{ keys: ["${A}", "${B}", "c"] }');
});

test("removes a line with its comment, and nothing else", () => {
  const changed = unsetInText(CHANNELS, ["channels", "main"]);
  assert.is(changed, CHANNELS.replace(/ {4}main:.*\n/, ""));
});

test("removes within a line, and the comma before the last", () => {
  assert.is(unsetInText("{ a: 1, b: 2, c: 3 }", ["b"]), "{ a: 1, c: 3 }");
  assert.is(unsetInText("{ a: 1, b: 2, c: 3 }", ["c"]), "{ a: 1, b: 2 }");
  assert.is(unsetInText("{ a: 1 }", ["a"]), "{ }");
  assert.is(unsetInText('{\n  "a": 1,\n  "b": 2\n}', ["b"]), '{\n  "a": 1\n}');
  assert.is(unsetInText("{ a: 1 }", ["z"]), "{ a: 1 }");
});

test("keeps the line ends of the file", () => {
  const changed = setInText("{\r\n  a: 1,\r\n}\r\n", ["b"], { c: 1 });
  assert.not.match(changed, /[^\r]\n/);
  assert.equal(plainValue(parse(changed)), { a: 1, b: { c: 1 } });
});

test("refuses an impossible path or value", () => {
  const isRefusal = (error: unknown) =>
    isPorticoError(error) && error.code === "invalid_request_error";
  assert.throws(() => setInText("{ a: 1 }", ["a", "b"], 1), isRefusal);
  assert.throws(() => setInText("{ a: [1] }", ["a", 3], 1), isRefusal);
  assert.throws(() => setInText("{}", ["a"], Number.NaN), isRefusal);
});

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one random walk, which is read from top to bottom
test("random edits always produce the intended value and keep every comment", () => {
  let seed = 3;
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return (seed >> 8) % below;
  };
  for (let round = 0; round < 60; round++) {
    let text =
      round % 2
        ? "{\n  // first\n  a: { x: 1, y: [1, 2] }, // second\n  b: {\n    // third\n    z: 'q' // fourth\n  }\n}\n"
        : '{ "a": 1 }';
    let value = plainValue(parse(text)) as Record<string, unknown>;
    for (let step = 0; step < 12; step++) {
      const key = "abcde"[random(5)]!;
      if (random(3) === 0) {
        text = unsetInText(text, [key]);
        value = { ...value };
        delete value[key];
      } else {
        const inner = "xyz"[random(3)]!;
        const put: unknown = [1, "s", [1, [2]], { p: { q: null } }, {}][random(5)];
        const old = value[key];
        const nested =
          random(2) === 0 && typeof old === "object" && old !== null && !Array.isArray(old);
        text = setInText(text, nested ? [key, inner] : [key], put);
        value = { ...value, [key]: nested ? { ...old, [inner]: put } : put };
      }
      assert.equal(plainValue(parse(text)), value, text);
      if (round % 2) assert.match(text, "// first");
    }
  }
});

test.run();
