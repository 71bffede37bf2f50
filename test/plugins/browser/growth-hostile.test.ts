/** Texts of pages and callers: the time grows linearly with their length. A quadratic time would exceed the suite's limit. */
import * as assert from "uvu/assert";
import { test } from "../../support/suite.ts";
import {
  readCallLog,
  toPublicError,
  summarizeError,
  stripControlCharacters,
} from "../../../plugins/browser/failures.ts";
import { plainName } from "../../../plugins/browser/files/own-files.ts";
import { createUrlMatcher } from "../../../plugins/browser/tab/url-match.ts";
import type { AriaNode } from "../../../plugins/browser/snapshot/aria-node.ts";
import { nameOf } from "../../../plugins/browser/snapshot/names.ts";
import { refNumber } from "../../../plugins/browser/snapshot/refs.ts";
import { sanitizeText } from "../../../plugins/browser/snapshot/text.ts";
import { deriveClientHints } from "../../../plugins/browser/tab/client-hints.ts";

const N = 300_000;

test("errors that a page throws are shortened in bounded time", () => {
  for (const text of [
    "\n".repeat(N),
    " \n".repeat(N),
    "\n    at".repeat(N / 5),
    "\n==".repeat(N / 3),
    "\u001b[".repeat(N),
  ]) {
    summarizeError(new Error(text));
    toPublicError(new Error(text), "The action");
    readCallLog(new Error(`Call log:${text}`));
    stripControlCharacters(text);
  }
  assert.is(summarizeError(new Error("locator.click: No\n   \n  Call log:\n - waiting")), "No");
  assert.is(
    summarizeError(new Error("Error: first\n    at x (y.js:1)\nsecond\n=== logs ===\nz")),
    "first second",
  );
});

test("names and texts in a snapshot can neither delay it nor imitate a ref", () => {
  for (const text of [
    "\u00a0".repeat(N),
    "\n".repeat(N),
    "[".repeat(N),
    "[ref=".repeat(N / 5),
    "[ @ref = ".repeat(N / 9),
  ])
    sanitizeText(`[${text}`);
  for (const text of [
    "[ref=e1]",
    "[  ref = 1]",
    "[\u00a0\u00a0@ref=1]",
    "[\nref=\n1]",
    "[REF=2",
    "[ @ native=1]",
  ])
    assert.not.match(sanitizeText(text), /\[\s*@?\s*(ref|native)/i, text);
  let node: AriaNode = { role: "link", text: "end" };
  const all = [node];
  for (let i = 0; i < 20_000; i++) {
    node = { role: "link", children: [node] };
    all.push(node);
  }
  for (const item of all) nameOf(item);
  assert.is(nameOf(all[3]!), "end");
});

test("a caller's glob is not a regular expression", () => {
  const url = `https://example.com/${"a".repeat(2000)}`;
  assert.not(createUrlMatcher(`${"*a".repeat(500)}*b`)(url));
  assert.not(createUrlMatcher("*".repeat(N))("") === undefined);
  for (const [glob, fits] of [
    ["**/api/*", true],
    ["*/api/users*", true],
    ["https://x.example/api/users?id=1", true],
    ["api", true],
    ["*/other", false],
    ["*api", false],
    ["https://*/users?id=1", true],
    ["**", true],
    ["a+b*", false],
  ] as const)
    assert.is(createUrlMatcher(glob)("https://x.example/api/users?id=1"), fits, glob);
});

test("other texts of callers are handled in bounded time", () => {
  refNumber(`${" ".repeat(N)}x`);
  assert.ok(Buffer.byteLength(plainName("\u00e9 .".repeat(N))) <= 255);
  deriveClientHints(`Android 1.1; ${"a Build/".repeat(N / 8)}`, true);
  deriveClientHints("Windows".repeat(N / 7), true);
});

test.run();
