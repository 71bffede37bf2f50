import JSON5 from "json5";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import {
  isBlank,
  findNode,
  parse,
  plainValue,
  SyntaxFault,
} from "../../../kernel/config/json5/parse.ts";

const valid = [
  "{}",
  "[]",
  '{ a: 1, \'b\': "2", "c": [true, false, null,], }',
  "// one\n{ /* two */ a /* three */ : /* four */ 1 // five\n}",
  "[+1, -1, .5, 5., 0x1F, -0xa, 1e3, 1E-3, Infinity, -Infinity, 0, -0]",
  "[+.5, -.5, -.5e3, +.25E-2]",
  "{ a: -.5, '+.5': '-.5', b: [ +.5 ] /* -.5 */ }",
  "-.5",
  "'it\\'s'",
  '"a\\\nb\\\r\nc\\u2028"',
  "'\\x41\\u0042\\n\\t\\v\\0\\q'",
  "{ $a_1: 1, ünï: 2, \\u0061b: 3 }",
  "\uFEFF{ a: 1 }",
  "{\u00a0a:\u20281}",
  "{ __proto__: { polluted: 1 } }",
  "{ a: '\u2028' }",
];

for (const text of valid) {
  test(`reads ${JSON.stringify(text)}`, () => {
    const expected = JSON5.parse(text) as unknown;
    assert.equal(JSON.stringify(plainValue(parse(text))), JSON.stringify(expected));
  });
}

test("a whole number that no double can hold is read as a string of its digits", () => {
  assert.equal(
    plainValue(parse("{ a: 7615917337495251231, b: [-9007199254740993], c: 9007199254740991 }")),
    { a: "7615917337495251231", b: ["-9007199254740993"], c: 9007199254740991 },
  );
});

const broken: [text: string, line: number, column: number, says: RegExp][] = [
  ["", 1, 1, /end of the file/],
  ["{ a: ", 1, 1, /the \{ that opens here is never closed/],
  ["{ a: [1,\n // more\n", 1, 6, /the \[ that opens here is never closed/],
  ["{ a: 1", 1, 1, /never closed/],
  ["{\n  a: 1\n  b: 2\n}", 3, 3, /expected , or \}/],
  ["{ a 1 }", 1, 5, /expected ":"/],
  ["{ a: 1, a: 2 }", 1, 9, /twice/],
  ["{ a: 'x\n' }", 1, 6, /never closed/],
  ["{ a: hello }", 1, 6, /quotes/],
  ["{ a: 012 }", 1, 6, /not a number/],
  ["{ a: 1.2.3 }", 1, 9, /expected , or \}/],
  ["{ a: .e }", 1, 6, /not a number/],
  ["{ a: -. }", 1, 6, /not a number/],
  ["{ a: +-.5 }", 1, 6, /not a number/],
  ["{\n  a: 'x,\n  b: 'y'\n}", 2, 6, /string is never closed/],
  ["{ a: /* x }", 1, 6, /comment/],
  ["[1 2]", 1, 4, /expected , or \]/],
  ["{ a: '\\1' }", 1, 7, /octal/],
  ["{ a: '\\xg1' }", 1, 7, /hexadecimal/],
  ["{} {}", 1, 4, /end of the file/],
  ["{ a: 1 } /* x", 1, 10, /comment/],
  ["[,]", 1, 2, /expected a value/],
  ["{,}", 1, 2, /expected a key/],
  ["[".repeat(5000), 1, 5000, /never closed/],
  ["[".repeat(9000) + "]".repeat(9000), 1, 1, /deeply/],
  ["[".repeat(500) + "]".repeat(500), 1, 202, /deeply/],
];

for (const [text, line, column, reason] of broken) {
  test(`refuses ${JSON.stringify(text.slice(0, 30))} at its place`, () => {
    try {
      parse(text);
    } catch (error) {
      assert.instance(error, SyntaxFault);
      assert.match((error as Error).message, reason);
      assert.equal([(error as SyntaxFault).line, (error as SyntaxFault).column], [line, column]);
      return;
    }
    assert.unreachable("it was taken");
  });
}

test("agrees with the json5 package on mutations of a real file", () => {
  const base = `// top\n{ gateway: { port: 0x10, auth: { token: '\${T}' } }, /* x */ list: [1, "two", null,], 'k': -5.e1, m: .5 }`;
  const alphabet = `{}[],:'"/*\\ \n01.-eax$`;
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % below;
  };
  let same = 0;
  for (let i = 0; i < 4000; i++) {
    const at = random(base.length);
    const text = base.slice(0, at) + alphabet[random(alphabet.length)] + base.slice(at + random(3));
    const read = (parser: (text: string) => unknown) => {
      try {
        return JSON.stringify(parser(text));
      } catch (error) {
        return (error as Error).message.includes("twice") ? "twice" : "fault";
      }
    };
    const ours = read((source) => plainValue(parse(source)));
    if (ours === "twice" || /[-+]\./.test(text)) continue;
    assert.is(ours, read(JSON5.parse), text);
    same++;
  }
  assert.ok(same > 3000);
});

test("keeps the position of every value", () => {
  const text = "{\n  a: { 'b.c': [10, 20] },\n}";
  const node = findNode(parse(text), ["a", "b.c", 1]);
  assert.equal(node?.loc.start, { line: 2, column: 20, offset: 21 });
  assert.is(text.slice(node?.loc.start.offset, node?.loc.end.offset), "20");
  assert.is(findNode(parse(text), ["a", "nope"]), undefined);
});

test("never sets a prototype", () => {
  const value = plainValue(parse('{ "__proto__": { polluted: 1 } }')) as Record<string, unknown>;
  assert.is(value["polluted"], undefined);
  assert.ok(Object.hasOwn(value, "__proto__"));
});

test("recognises a text without any value", () => {
  assert.ok(isBlank(" // only a comment\n/* and one more */"));
  assert.not.ok(isBlank("// comment\n{}"));
});

test.run();
