import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { guardLoops } from "../../../kernel/loader/guard-loops.ts";
import { createLoopGuard, EndlessLoopError, mayLoop } from "../../../kernel/loader/loop-guard.ts";
import { packageDir } from "../../support/gateway.ts";

/** Runs code whose loops are guarded with this limit, and returns its result. */
function run(code: string, limitMs = 30): unknown {
  const guard = createLoopGuard(limitMs);
  return new Function("$t", guardLoops(code, "$t"))(guard.tick);
}

test("guards run before loop conditions, and all other code stays unchanged", () => {
  const cases: [string, string][] = [
    ["while (true) {}", "while (t()&&(true)) {}"],
    ["while (a)\n  b();", "while (t()&&(a))\n  b();"],
    ["do { x(); } while (y);", "do { x(); } while (t()&&(y));"],
    ["for (;;) ;", "for (;t();) ;"],
    ["for (let i = 0; i < 3; i++) f(i);", "for (let i = 0;t()&&( i < 3); i++) f(i);"],
    ["for (let i = 0; ; i++) {}", "for (let i = 0;t() ; i++) {}"],
    ["for (let f = () => { a; b; }; f(); ) {}", "for (let f = () => { a; b; };t()&&( f()); ) {}"],
  ];
  for (const [code, guarded] of cases) assert.is(guardLoops(code, "t"), guarded);
});

test("code that only looks like a loop stays unchanged", () => {
  for (const code of [
    "const s = \"while (true) {}\" + 'for (;;) {}';",
    'const s = `while (true) {} ${"for (;;)"} \\` for (;;)`;',
    "// while (true) {}\n/* for (;;) {} */",
    "const r = /while (true)[/(]for (;;)/g;",
    "if (x) /while (a)/.test(y);",
    "return /for (;;)/;",
    "const q = a / b; const w = c / d; // while (x)",
    "x.while(1); x?.for(a, b);",
    "for (const x of y) z;",
    "for (const k in o) z;",
    "for await (const x of y) z;",
    "const whiles = (a); forEach((b));",
  ]) {
    assert.is(guardLoops(code, "t"), code);
  }
});

test("no code with a loop stays unguarded", () => {
  for (const loop of [
    "while (x) {}",
    "do {} while (x);",
    "for (;;) ;",
    "for (let of = 1; of; ) {}",
    "for (let of, x; ; ) {}",
    "for (let x = (y in z); ; ) {}",
    "for (var i in { a: function () { for (;;) ; } }) {}",
    "for (const x of y) for (let i = 0; ; ) {}",
    "for (const x of y) { do\nz(); while(x) }",
    "for\n(let x = 1; ; ) {}",
  ]) {
    assert.is.not(guardLoops(loop, "t"), loop);
    assert.ok(mayLoop(loop), loop);
  }
  for (const harmless of [
    "for (let key of names) z(key);",
    "for (const k in o) z;",
    "x.forEach(z);",
    "const whiles = 1;",
  ])
    assert.not(mayLoop(harmless), harmless);
});

test("loops inside templates are found", () => {
  assert.is(
    guardLoops("`a ${(() => { while (x) {} })()} b`", "t"),
    "`a ${(() => { while (t()&&(x)) {} })()} b`",
  );
});

test("loops that end behave as before", () => {
  assert.is(
    run(
      "let n = 0; for (let i = 0; i < 100000; i++) n += i; let k = 5; while (k-- > 0) n++; do n++; while (n < 0); return n;",
      60_000,
    ),
    4999950006,
  );
});

test("endless loops are ended, whatever they catch", () => {
  for (const code of [
    "while (true) {}",
    "for (;;) ;",
    "do {} while (1);",
    "for (;;) { try { for (;;) ; } catch {} }",
  ]) {
    assert.throws(
      () => run(code),
      (error: Error) => error instanceof EndlessLoopError,
      code,
    );
  }
});

test("a loop that awaits settled promises only ends too", async () => {
  const error = await (
    run("return (async () => { while (true) await null; })()") as Promise<unknown>
  ).catch((thrown) => thrown);
  assert.instance(error, EndlessLoopError);
});

test("a loop that yields to the event loop may run without end", async () => {
  const code =
    "return (async () => { let n = 0; while (n < 40) { await new Promise((r) => setTimeout(r, 1)); n++; } return n; })()";
  assert.is(await run(code, 20), 40);
});

test("real programs still parse, and keep their lines", () => {
  for (const name of [
    "acorn/dist/acorn.js",
    "uvu/dist/index.js",
    "uvu/diff/index.js",
    "ws/lib/websocket.js",
    "ws/lib/sender.js",
    "yaml/dist/parse/lexer.js",
    "yaml/dist/parse/parser.js",
    "yaml/dist/parse/cst-visit.js",
    "undici/lib/core/util.js",
    "undici/lib/web/fetch/index.js",
    "undici/lib/dispatcher/client-h1.js",
  ]) {
    const code = readFileSync(join(packageDir, "node_modules", name), "utf8");
    const guarded = guardLoops(code, "t");
    new Function("require", "module", "exports", guarded);
    assert.is(guarded.split("\n").length, code.split("\n").length, name);
    if (/\bwhile \(/.test(code)) assert.match(guarded, /while \(t\(\)&&\(/, name);
  }
});

test.run();
