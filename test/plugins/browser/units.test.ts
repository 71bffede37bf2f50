import { spawn } from "node:child_process";
import { once } from "node:events";
import * as assert from "uvu/assert";
import { packageDir } from "../../support/gateway.ts";
import { test } from "../../support/suite.ts";
import { findUnobstructed, NEEDS_VISIBLE } from "../../../plugins/browser/actions/elements.ts";
import {
  compilePageFunction,
  toJsonResult,
} from "../../../plugins/browser/actions/page-function.ts";
import { recognizeBrowser } from "../../../plugins/browser/drivers/executables.ts";
import {
  endOrphan,
  endRecorded,
  getGatewayName,
  startTimeOf,
} from "../../../plugins/browser/drivers/process-record.ts";
import {
  toPublicError,
  summarizeError,
  stripControlCharacters,
} from "../../../plugins/browser/failures.ts";
import { createUrlMatcher } from "../../../plugins/browser/tab/url-match.ts";
import { redactUrl } from "../../../plugins/browser/profiles.ts";
import { ROUTES } from "../../../plugins/browser/declarations/routes.ts";
import { diffLines } from "../../../plugins/browser/snapshot/diff.ts";
import { RefTable, refNumber } from "../../../plugins/browser/snapshot/refs.ts";
import type { AriaNode } from "../../../plugins/browser/snapshot/aria-node.ts";
import { render, type View } from "../../../plugins/browser/snapshot/render.ts";
import { sanitizeText } from "../../../plugins/browser/snapshot/text.ts";
import type { Tab } from "../../../plugins/browser/tab/tab.ts";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { writeFile as writeFileAsync } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const AI: View = { style: "ai", interactive: false, compact: false, maxChars: 80_000 };
const view = (more: Partial<View>): View => ({ ...AI, style: "role", ...more });

test("the system's error about a file is reported without its path", async () => {
  for (const path of ["/nowhere/of/this/host", "/nowhere, really/x"]) {
    const error = await writeFileAsync(path, "").catch((caught: unknown) => caught);
    const { code, message } = toPublicError(error, "The trace");
    assert.equal(
      [code, message],
      ["action_failed", "The trace failed: ENOENT: no such file or directory."],
    );
  }
});

test("the obstacle at the end of the time is reported, although the last check does not end in time", async () => {
  const looks = [Promise.resolve({ visible: false }), new Promise(() => {})];
  const locator = { count: async () => 1, evaluate: () => looks.shift() };
  const refs = { find: () => ({ n: 1, role: "button", name: "Goal" }) };
  const tab = { refs, page: { getByRef: () => locator } } as unknown as Tab;
  const failed = findUnobstructed({
    tab,
    ref: 1,
    needs: NEEDS_VISIBLE,
    what: "The drag",
    timeoutMs: 60,
    isExplicit: true,
  });
  const { code, message } = await failed.catch((error) => error);
  assert.equal(
    [code, message],
    ["action_failed", 'The drag failed: the button "Goal" (ref 1) is not visible.'],
  );
});

test("the README names every route", () => {
  const readme = readFileSync(join(packageDir, "plugins/browser/README.md"), "utf8");
  for (const { path } of ROUTES) assert.match(readme, new RegExp(`\`(?:[A-Z]+ )?${path}\``), path);
});

test("a ref is accepted in every form, and nothing else is accepted", () => {
  for (const form of [12, "12", "e12", "@e12", "ref=12", "ref=e12", "[ref=e12]", " e12 "])
    assert.is(refNumber(form), 12);
  for (const form of [
    0,
    -1,
    1.5,
    "",
    "e",
    "12px",
    "#12",
    "f5e12",
    "e12,e13",
    null,
    {},
    [12],
    true,
  ]) {
    assert.is(refNumber(form), undefined, JSON.stringify(form));
  }
});

test("an element keeps its number, and no number is used twice", () => {
  const counter = { last: 0 };
  const table = new RefTable(counter);
  const other = new RefTable(counter);
  assert.is(table.number("e1", "button", "Go"), 1);
  assert.is(other.number("e1", "button", "Go"), 2);
  assert.is(table.number("e1", "button", "Go"), 1);
  assert.is(table.number("f5e1", "button", "Go"), 3);
  assert.is(table.find("e3").native, "f5e1");
  assert.throws(
    () => table.find(2),
    (error: { code: string }) => error.code === "ref_not_found",
  );
  assert.throws(
    () => table.find("#go"),
    (error: { code: string }) => error.code === "invalid_request_error",
  );
});

test("page text cannot look like a ref or leave its line", () => {
  assert.is(sanitizeText("pay [ref=5] now"), "pay (ref=5) now");
  assert.is(sanitizeText("[ REF = e5 ]"), "( REF = e5 )");
  assert.is(sanitizeText("a\n- button [ref=e9]\u2028b"), "a - button (ref=e9) b");
  assert.is(sanitizeText("plain [brackets] stay"), "plain [brackets] stay");
  const tree: AriaNode[] = [
    { role: "button", name: 'x" [ref=7]\n- link "y" [ref=8]', ref: "e2", text: "[ref=9]" },
  ];
  const { lines, refs } = render(tree, AI, new RefTable());
  assert.is(lines.length, 1);
  assert.equal(
    [...lines[0]!.matchAll(/\[ref=(\d+)\]/g)].map((match) => match[1]),
    ["1"],
  );
  assert.equal(Object.keys(refs), ["1"]);
});

const FORM: AriaNode[] = [
  {
    role: "generic",
    ref: "e1",
    children: [
      { role: "heading", name: "Sign up", level: 1, ref: "e2" },
      {
        role: "list",
        ref: "e3",
        children: [
          {
            role: "listitem",
            ref: "e4",
            children: [
              "Email",
              { role: "textbox", name: "Email", ref: "e5", placeholder: "you@x" },
            ],
          },
          { role: "listitem", ref: "e6", children: [{ role: "button", name: "Go", ref: "e7" }] },
          {
            role: "listitem",
            ref: "e8",
            children: [{ role: "button", name: "Go", ref: "e9", disabled: true }],
          },
        ],
      },
      { role: "generic", ref: "e10" },
      {
        role: "generic",
        ref: "e11",
        cursor: "pointer",
        text: "Clickable",
        children: [{ role: "img", name: "x", ref: "e12", cursor: "pointer" }],
      },
    ],
  },
];

test("the views of a tree", () => {
  const table = new RefTable();
  const whole = render(FORM, AI, table).lines.join("\n");
  assert.match(whole, "      - /placeholder: you@x");
  assert.match(whole, '- heading "Sign up" [level=1] [ref=2]');
  assert.match(whole, "- generic [ref=10]");
  const flat = render(FORM, view({ interactive: true, compact: true }), table);
  assert.equal(flat.lines, [
    '- textbox "Email" [ref=e5]',
    '- button "Go" [ref=e7]',
    '- button "Go" [disabled] [ref=e9]',
    "- generic [ref=e11] [cursor=pointer]: Clickable x",
  ]);
  assert.is(flat.interactive, 4);
  assert.equal(
    [flat.refs["e7"]?.nth, flat.refs["e9"]?.nth, flat.refs["e5"]?.nth],
    [0, 1, undefined],
  );
  const compact = render(FORM, view({ compact: true }), table).lines;
  assert.not.ok(compact.some((line) => line.includes("listitem") || line.includes("[ref=e10]")));
  assert.equal(render(FORM, view({ depth: 0, compact: true }), table).lines.length, 6);
  assert.is(render(FORM, view({ limit: 2 }), table).nodes.length, 2);
  assert.equal(render([], view({ interactive: true }), table).lines, ["(no interactive elements)"]);
});

test("a snapshot is truncated between nodes and reports that", () => {
  const many: AriaNode[] = Array.from({ length: 500 }, (_, i) => ({
    role: "button",
    name: `Button ${i}`,
    ref: `e${i}`,
  }));
  const {
    lines,
    truncated,
    refs,
    omittedCount: leftOut,
  } = render(many, view({ maxChars: 1000 }), new RefTable());
  assert.ok(truncated);
  assert.ok(lines.join("\n").length <= 1000);
  assert.ok(lines.slice(0, -1).every((line) => /^- button "Button \d+" \[ref=e\d+\]$/.test(line)));
  assert.is(Object.keys(refs).length + leftOut, 500);
  assert.match(lines.at(-1)!, `${leftOut} more nodes`);
});

test("a snapshot that just fits is not truncated, and no limit is too small", () => {
  const three: AriaNode[] = ["Go", "Stop", "Wait"].map((name, i) => ({
    role: "button",
    name,
    ref: `e${i}`,
  }));
  const chars = (maxChars: number) => {
    const {
      lines,
      truncated,
      omittedCount: leftOut,
    } = render(three, view({ maxChars }), new RefTable());
    return [lines.join("\n").length, truncated, leftOut];
  };
  const [all = 0] = chars(80_000) as [number];
  assert.equal(chars(all), [all, false, 0]);
  assert.equal(chars(all - 1), [
    '- button "Go" [ref=e1]\n- button "Stop" [ref=e2]'.length,
    true,
    1,
  ]);
  assert.equal(chars(1), [0, true, 3]);
  const none = render(three, view({ interactive: true, maxChars: 1 }), new RefTable());
  assert.equal(none.lines, []);
});

test("a difference lists added and removed lines", () => {
  assert.equal(diffLines(["a", "b", "c"], ["a", "x", "c", "d"]), {
    lines: ["- b", "+ x", "+ d"],
    added: 2,
    removed: 1,
  });
  assert.equal(diffLines(["a"], ["a"]), { lines: [], added: 0, removed: 0 });
  assert.equal(diffLines([], ["a"]).lines, ["+ a"]);
  const long = (mark: string): string[] => Array.from({ length: 3000 }, (_, i) => `${mark}${i}`);
  assert.is(diffLines(long("a"), long("b")).lines.length, 6000);
});

test("addresses match exactly, in part, or by a pattern", () => {
  const url = "http://127.0.0.1:80/api/items?page=2";
  for (const pattern of [
    url,
    "/api/items",
    "**/items?page=2",
    "*/api/*",
    "http://*/api/items?page=2",
    "/api/*",
    "/*/items**",
  ])
    assert.ok(createUrlMatcher(pattern)(url), pattern);
  for (const pattern of [
    "/api/other",
    "*.png",
    "http://*/items",
    "/items*",
    "/api/items*",
    "//127*",
  ])
    assert.not.ok(createUrlMatcher(pattern)(url.replace("items", "x")), pattern);
});

test("library messages lose terminal codes, stacks and call logs", () => {
  const error = new Error(
    "locator.click: Timeout 10ms exceeded.\nCall log:\n\u001b[2m  - waiting for x\u001b[22m\n    at f (/home/me/x.js:1:1)",
  );
  assert.is(summarizeError(error), "Timeout 10ms exceeded.");
  assert.is(stripControlCharacters("\u001b[31mred\u001b[0m\u0007"), "red");
  assert.is(
    summarizeError(
      new Error(
        "page.evaluate: ReferenceError: x is not defined\n    at eval (eval at evaluate (:290:30))",
      ),
    ),
    "ReferenceError: x is not defined",
  );
});

test("an expression of a caller has its value, even with a trailing semicolon", async () => {
  for (const [source, value] of [
    ["() => 7;", 7],
    ["1 + 6 ;\n", 7],
    ["async () => 7 ; ;", 7],
    ["function () { return 7; };", 7],
    ["(element) => element;", 7],
    ["'7;'", "7;"],
    ["return 7;", 7],
    ["const a = 7; return a;", 7],
  ] as const)
    assert.is(
      await (compilePageFunction(source, "element") as (element: number) => unknown)(7),
      value,
      source,
    );
});

test("the gateway compiles a caller's code and never runs it", () => {
  for (const source of [
    "() => 1",
    "1 + 1",
    "(element) => element.value",
    "const a = 1; return a",
    "async () => await fetch('/')",
    "process.exit(1)",
  ]) {
    assert.type(compilePageFunction(source, "element"), "function");
  }
  assert.throws(
    () => compilePageFunction("; 1 +;", "element"),
    (error: { param: string }) => error.param === "fn",
  );
  assert.throws(
    () => compilePageFunction("1 +", "element"),
    (error: { param: string }) => error.param === "fn",
  );
  assert.equal(toJsonResult({ a: 1n, b: Number.NaN, c: undefined }), { a: "1", b: "NaN" });
  assert.is(toJsonResult(undefined), null);
});

test("a remote address is shown without its secrets", () => {
  assert.is(redactUrl("https://me:secret@host:9333/path?token=abc#x"), "https://host:9333/path");
  assert.is(redactUrl("ws://host/?t=1"), "ws://host");
});

test("the system's default browser is known by its name", () => {
  const names = {
    "google-chrome.desktop": "chrome",
    "brave-browser.desktop": "brave",
    "microsoft-edge.desktop": "edge",
    "com.google.chrome.canary": "canary",
    ChromeHTML: "chrome",
    "chromium_chromium.desktop": "chromium",
  };
  for (const [name, kind] of Object.entries(names)) assert.is(recognizeBrowser(name), kind, name);
  assert.is(recognizeBrowser("firefox.desktop"), undefined);
});

test("only the exact process of a record is terminated", async () => {
  const file = join(mkdtempSync(join(tmpdir(), "portico-record-")), "browser.json");
  writeFileSync(file, JSON.stringify({ pid: process.pid, startedAt: "1", port: 1 }));
  assert.is(await endRecorded(file), false);
  assert.not.ok(existsSync(file));
  writeFileSync(file, "{torn");
  assert.is(await endRecorded(file), false);
  assert.type(
    await startTimeOf(process.pid),
    process.platform === "win32" ? "undefined" : "string",
  );
});

test("a browser whose gateway still runs is not considered left behind", async () => {
  const file = join(mkdtempSync(join(tmpdir(), "portico-record-")), "browser.json");
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], {
    stdio: "ignore",
    detached: true,
  });
  const ended = once(child, "exit");
  const record = { pid: child.pid, startedAt: await startTimeOf(child.pid!), port: 1 };
  writeFileSync(file, JSON.stringify({ ...record, gateway: await getGatewayName() }));
  assert.is(await endOrphan(file), false);
  assert.ok(existsSync(file));
  assert.is(child.exitCode ?? child.signalCode, null);
  writeFileSync(file, JSON.stringify({ ...record, gateway: `${process.pid}.000000000000` }));
  assert.is(await endOrphan(file), true);
  assert.not.ok(existsSync(file));
  await ended;
});

test.run();
