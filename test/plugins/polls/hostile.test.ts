/** Whatever a source sends: the time to read it grows with its length, and half a document is never news. */
import { suite } from "../../support/suite.ts";
import { diffLines } from "../../../plugins/polls/checking/diff.ts";
import { render } from "../../../plugins/polls/checking/template.ts";
import { findNewItems } from "../../../plugins/polls/identity.ts";
import { decodeText } from "../../../plugins/strings/decode.ts";
import { parseFeed } from "../../../plugins/polls/sources/feeds/feed.ts";
import { extractPageText } from "../../../plugins/polls/sources/pages/html.ts";
import { removeIgnoredLines } from "../../../plugins/polls/sources/pages/ignore.ts";
import { parseJsonItems } from "../../../plugins/polls/sources/json.ts";
import { readPath } from "../../../plugins/polls/value-path.ts";
import { assertLinear, assertLinearAsync, repeated } from "../../support/growth.ts";

const test = suite("hostile sources");

const MARKUP = [
  "<a",
  "<a>",
  "</a>",
  "<a/>",
  "<a b=",
  "<!--",
  "-->",
  "<![CDATA[",
  "]]>",
  "<?a",
  "<!a",
  "&",
  "&a;",
  "&amp;",
  "&#",
  "<",
  "</",
  ">",
  '"',
  "'",
  " ",
  "\n",
  "\0",
  "[",
];

test("feeds", async () => {
  const tokens = [
    ...MARKUP,
    "<item>",
    "<item/>",
    "<item><title>",
    "<item></item>",
    "<link/>",
    "<channel>",
    "<a:b c='d'>",
  ];
  for (const before of ["<rss>", '<feed><entry><link href="', "<!DOCTYPE rss "])
    for (const token of tokens)
      await assertLinearAsync(`${before}${token}…`, 6_000, repeated(token, before), parseFeed);
  await assertLinearAsync(
    "a closed feed",
    6_000,
    repeated("<item><title>a</title></item>", "<rss><channel>", "</channel></rss>"),
    parseFeed,
  );
  for (const token of ["{", "[", '"', "\\", '{"items":[', "1,"])
    await assertLinearAsync(`JSON ${token}…`, 6_000, repeated(token, '{"items":['), parseFeed);
});

test("pages, whatever the selector", async () => {
  const tokens = [
    ...MARKUP,
    "<li>",
    "<li>x</li>",
    "<p>",
    "<div><p>",
    "<b><p>",
    "<a><p></a>",
    "<table>",
    "<table><a>",
    "<tr><td>",
    "<select><option>",
    "<script>",
    "</scrip",
    "<svg><g>",
    "<template>",
    "<font x></p><p>",
    "<body a>",
    "<nobr>",
    "<form>",
  ];
  for (const token of tokens)
    await assertLinearAsync(`${token}…`, 2_000, repeated(token), (text) =>
      extractPageText(text, {}),
    );
  const selectors = [
    "li:first-child",
    "li:last-child",
    "li:nth-child(2n+1)",
    "li:nth-last-of-type(3)",
    "li:not(:only-child)",
    "b ~ li",
    "li ~ li",
    "li + li",
    "* * * *",
    "li:has(b)",
    ":has(~ b)",
    ":has(+ li)",
    "li:contains(y)",
    ":not(:has(li)) b",
    "[class~=x]",
  ];
  for (const selector of selectors)
    for (const token of ["<li>", "<li><b></b>"])
      await assertLinearAsync(`${selector} on ${token}…`, 2_000, repeated(token), (text) =>
        extractPageText(text, { selector }),
      );
});

test("patterns of lines that do not count", async () => {
  for (const pattern of ["^(a+)+$", "(a|a)*b", "(.*)*x", "^\\s+$", "(a?){50}b"])
    for (const token of ["a", "a\n", " ", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\n"])
      await assertLinearAsync(`${pattern} on ${token}…`, 2_000, repeated(token), (text) =>
        removeIgnoredLines(text, [pattern]),
      );
});

test("JSON, its paths, templates and identities", async () => {
  for (const token of ["[", "{", '"', "1,", '{"a":', "\\u0000"])
    await assertLinearAsync(`JSON ${token}…`, 6_000, repeated(token, "["), (text) =>
      parseJsonItems(text, "a[*].b", "id"),
    );
  const list = (size: number): string =>
    JSON.stringify({ a: Array.from({ length: size / 20 }, (_, id) => ({ id })) });
  await assertLinearAsync("a long list", 6_000, list, async (text) =>
    findNewItems(await parseJsonItems(text, "a[*]", "id"), []),
  );
  const twins = repeated('{"id":1},', "[", "{}]");
  await assertLinearAsync("a list of twins", 6_000, twins, async (text) =>
    findNewItems(await parseJsonItems(text, "", "id"), []),
  );
  const value = { a: { b: [1] } };
  for (const token of ["a.", "[", "]", "[*]", '["', "a[0]", "."])
    assertLinear(`path ${token}…`, 6_000, repeated(token, "a"), readPath);
  for (const token of ["{", "{item", "{item.a}", "{json ", "{json  item}", "{a.", "{item[", "}"])
    assertLinear(`template ${token}…`, 6_000, repeated(token), (text) =>
      render(text, { item: value }),
    );
});

test("differences", () => {
  let seed = 1;
  const random = (): number => (seed = (seed * 48_271) % 2_147_483_647);
  const lines = (size: number): string =>
    Array.from({ length: size / 8 }, () => String(random())).join("\n");
  assertLinear("nothing alike", 6_000, lines, (text) =>
    diffLines(text, text.split("").reverse().join("")),
  );
  // The smaller one takes a part of the most edits that are looked at, the larger one all of them.
  assertLinear("a few words mixed", 3_000, repeated("a\nb\n\na\n"), (text) =>
    diffLines(text, text.replaceAll("a\nb", "b\na")),
  );
  assertLinear("empty lines", 6_000, repeated("\n"), (text) => diffLines(text, `${text}x${text}`));
});

test("encodings", () => {
  for (const token of ["<meta ", "<meta charset", "<?xml ", " ", "\u00ff", "charset=", "\0"]) {
    assertLinear(`bytes ${token}…`, 6_000, repeated(token), (text) =>
      decodeText(Buffer.from(text, "latin1")),
    );
    assertLinear(`content type ${token}…`, 6_000, repeated(token), (text) =>
      decodeText(Buffer.from("x"), text),
    );
  }
});

test.run();
