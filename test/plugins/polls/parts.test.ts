/** Identity, templates, differences, pages, back-off: each by itself. */
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import type { PorticoError } from "portico";
import { backoffMs } from "../../../plugins/polls/checking/backoff.ts";
import { diffLines } from "../../../plugins/polls/checking/diff.ts";
import { type Item, findNewItems } from "../../../plugins/polls/identity.ts";
import { extractPageText } from "../../../plugins/polls/sources/pages/html.ts";
import { parseJsonItems } from "../../../plugins/polls/sources/json.ts";
import { render } from "../../../plugins/polls/checking/template.ts";
import { readPath, valueAt } from "../../../plugins/polls/value-path.ts";

/** Feeds lists to the comparison one after another; answers what was new in each, the first left out. */
async function walk(...lists: Item[][]): Promise<unknown[][]> {
  let seenKeys: string[] = [];
  const fresh: unknown[][] = [];
  for (const list of lists) {
    const result = await findNewItems(list, seenKeys);
    seenKeys = result.seenKeys;
    fresh.push(result.newItems.map(({ value }) => value));
  }
  return fresh.slice(1);
}

/** Returns the error with which a promise is rejected. */
async function errorOf(promise: Promise<unknown>): Promise<Error> {
  try {
    await promise;
  } catch (error) {
    return error as Error;
  }
  throw new Error("was read");
}

const refusal = async (promise: Promise<unknown>): Promise<string> =>
  (await errorOf(promise)).message;

const item = (id: string | undefined, value: unknown = id, link?: string): Item => ({
  value,
  ...(id === undefined ? {} : { id }),
  ...(link === undefined ? {} : { link }),
});

test("items are identified by id: an edit, a new order and a gap bring nothing", async () => {
  const [a, b, c] = [item("a"), item("b"), item("c")];
  assert.equal(await walk([a, b], [b, a], [item("a", "edited"), b], [b], [c, a, b], [a, b, c]), [
    [],
    [],
    [],
    ["c"],
    [],
  ]);
});

test("without ids by link, without links by content", async () => {
  const linked = (link: string, value: string): Item => item(undefined, value, link);
  assert.equal(
    await walk([linked("1", "x")], [linked("1", "edited")], [linked("2", "y"), linked("1", "x")]),
    [[], ["y"]],
  );
  const bare = (value: unknown): Item => item(undefined, value);
  assert.equal(await walk([bare({ a: 1, b: 2 })], [bare({ b: 2, a: 1 })], [bare({ a: 1, b: 3 })]), [
    [],
    [{ a: 1, b: 3 }],
  ]);
});

test("if all ids are equal, the link identifies an item, and then its content", async () => {
  const alike = (value: string, link?: string): Item => item("same", value, link);
  assert.equal(
    await walk(
      [alike("x", "1"), alike("y", "2")],
      [alike("z", "3"), alike("x", "1"), alike("y", "2")],
    ),
    [["z"]],
  );
  assert.equal(await walk([alike("x"), alike("y")], [alike("z"), alike("x"), alike("y")]), [["z"]]);
  assert.equal(
    await walk([alike("x", "1")], [alike("y", "2"), alike("x", "1")]),
    [["y"]],
    "it turns out only at the second look",
  );
});

test("the same item listed twice fires once", async () => {
  assert.equal(await walk([], [item("a", "same"), item("a", "same")]), [["same"]]);
});

test("an item that is still listed is never forgotten, however long the list", async () => {
  const many = Array.from({ length: 5_000 }, (_, i) => item(`i${i}`));
  let { seenKeys } = await findNewItems(many, []);
  for (let round = 0; round < 5; round++) {
    const more = Array.from({ length: 1_000 }, (_, i) => item(`r${round} ${i}`));
    const result = await findNewItems([...many, ...more], seenKeys);
    assert.is(result.newItems.length, 1_000);
    seenKeys = result.seenKeys;
  }
  assert.ok(seenKeys.length < 40_000);
});

test("templates: paths, json, what is missing, and braces that are not ours", () => {
  const values = { item: { a: { b: [1, 2] }, t: "x{item.a}", n: null }, url: "u", count: 3 };
  assert.is(
    render("{item.a.b[1]} {item.t} {item.zzz}|{item.n} {url} {count}", values),
    "2 x{item.a} | u 3",
  );
  assert.is(render("{json item.a} {item.a}", values), '{"b":[1,2]} {"b":[1,2]}');
  assert.is(
    render('{"key": 1} {other} {item.constructor} {item.__proto__}', values),
    '{"key": 1} {other}  ',
  );
});

test("paths read own properties only", () => {
  const value = {
    a: [{ b: 1 }, { b: 2 }],
    "x-y": { z: 3 },
    "p.q[0]": { 'r"': 4 },
    $ref: 5,
    "s t": 6,
  };
  const at = (path: string) => valueAt(value, readPath(path)!);
  assert.is(at("$.a[1].b"), 2);
  assert.equal(at("a[*].b"), [1, 2]);
  assert.is(at("x-y.z"), 3);
  assert.is(at("a.length"), 3 - 1, "an array's length is its own");
  assert.is(at("constructor"), undefined);
  assert.is(at("a.map"), undefined);
  assert.equal(at("a[*].b.c[*]"), [undefined, undefined]);
  for (const whole of ["", "$", " $ "]) assert.is(at(whole), value);
  assert.equal([at('["p.q[0]"]["r\\""]'), at("$['p.q[0]']")], [4, { 'r"': 4 }]);
  assert.equal([at("[x-y].z"), at("$ref"), at("$.$ref"), at("s t")], [3, 5, 5, 6]);
});

test("an invalid path is not read as another one", () => {
  for (const text of ["a..b", "a[", "a]", "a[]", ".a", "a.", "$.", "$..a", ".", "a.[0]", "a[0]b"])
    assert.is(readPath(text), undefined, text);
  for (const text of ["a[*", 'a["b]', "a['b\"]", "a[[0]]", "[*].", "a[b]c"])
    assert.is(readPath(text), undefined, text);
});

test("json: a list, a list within, one object; what does not fit fails", async () => {
  assert.equal(
    (await parseJsonItems('[{"id":1},{"id":2}]', undefined, "id")).map(({ id }) => id),
    ["1", "2"],
  );
  assert.is((await parseJsonItems('{"d":{"rows":[1,2]}}', "d.rows", undefined)).length, 2);
  assert.is((await parseJsonItems('{"d":[{"r":[1,2]},{"r":[3]}]}', "d[*].r", undefined)).length, 3);
  assert.is(
    (await parseJsonItems(`[${"0,".repeat(99_999)}0]`, undefined, undefined)).length,
    100_000,
  );
  const refuse = (text: string) => refusal(parseJsonItems(text, undefined, undefined));
  assert.match(await refuse(`[${"0,".repeat(100_000)}0]`), "lists 100001 items, more than 100000");
  assert.match(await refuse(`[[${"[".repeat(99)}${"]".repeat(99)}]]`), "more than 100 levels deep");
  assert.match(await refuse(`[{"a":[${"[],".repeat(400_000)}1]}]`), "more than 400000 values");
  const deepest = await parseJsonItems(
    `[[${"[".repeat(98)}${"]".repeat(98)}]]`,
    undefined,
    undefined,
  );
  assert.is((await findNewItems(deepest, [])).newItems.length, 1);
  assert.equal(await parseJsonItems('{"tag":"v1"}', undefined, "tag"), [
    { value: { tag: "v1" }, id: "v1" },
  ]);
  for (const [text, path, message] of [
    ["<html>", undefined, "not JSON"],
    ['{"a":1}', "b", "nothing at"],
    ['{"a":{}}', "a", "not a list"],
    ["", undefined, "not JSON"],
  ] as const) {
    assert.match(await refusal(parseJsonItems(text, path, undefined)), message);
  }
});

test("ids and contents beyond 2^53 differ, and templates show their digits", async () => {
  const [a, b] = ["7615917337495251231", "7615917337495251232"];
  const list = (id: string, key?: string) => parseJsonItems(`[{"id":${id}}]`, undefined, key);
  for (const key of ["id", undefined]) {
    const { seenKeys } = await findNewItems(await list(a, key), []);
    const { newItems: fresh } = await findNewItems(await list(b, key), seenKeys);
    assert.is(fresh.length, 1, key);
    assert.is((await findNewItems(await list(a, key), seenKeys)).newItems.length, 0);
    const values = { item: fresh[0]!.value };
    assert.is(render("{item.id} {json item} {item}", values), `${b} {"id":${b}} {"id":${b}}`);
  }
  const [feedItem] = await parseJsonItems(`{"items":[{"id":${a}}]}`, "items", "id");
  assert.is(feedItem!.id, a);
});

test("differences show removed and added lines", () => {
  assert.is(diffLines("a\nb\nc", "a\nx\nc\nd"), "- b\n+ x\n+ d");
  assert.is(diffLines("", "new"), "- \n+ new");
  assert.is(diffLines("same", "same"), "");
  const long = Array.from({ length: 5_000 }, (_, i) => `line ${i}`);
  const changed = [...long];
  changed[0] = "first";
  changed[4_999] = "last";
  assert.is(
    diffLines(long.join("\n"), changed.join("\n")),
    "- line 0\n+ first\n- line 4999\n+ last",
  );
  assert.ok(diffLines("", "x".repeat(100_000)).length < 9_000);
});

test("differences are the fewest, and leave the same of both texts", () => {
  const texts: string[][] = [["a"], ["b"]];
  for (let i = 0; texts.length < 30; i++)
    for (const line of ["a", "b"]) texts.push([...texts[i]!, line]);
  const common = ([first, ...ones]: string[], [other, ...others]: string[]): number => {
    if (first === undefined || other === undefined) return 0;
    return first === other
      ? 1 + common(ones, others)
      : Math.max(common(ones, [other, ...others]), common([first, ...ones], others));
  };
  /** What may be left where these lines have gone, in this order. */
  const left = (lines: string[], [removed, ...more]: string[]): string[] => {
    if (removed === undefined) return [lines.join("")];
    const ways = [...lines.keys()].filter((i) => lines[i] === removed);
    return ways.flatMap((i) =>
      left(lines.slice(i + 1), more).map((rest) => lines.slice(0, i).join("") + rest),
    );
  };
  for (const was of texts)
    for (const is of texts) {
      const edits = diffLines(was.join("\n"), is.join("\n")).split("\n").filter(Boolean);
      const what = `${was} to ${is}: ${edits}`;
      assert.is(edits.length, was.length + is.length - 2 * common(was, is), what);
      const linesOf = (sign: string) =>
        edits.filter((edit) => edit.startsWith(sign)).map((edit) => edit.slice(2));
      const rests = left(is, linesOf("+"));
      assert.ok(
        left(was, linesOf("-")).some((rest) => rests.includes(rest)),
        what,
      );
    }
});

const PAGE = `<!doctype html><title>no</title><style>.x{}</style><nav><a href=/>Home</a></nav>
  <main id=main class="big list"><h1>Prices</h1><ul><li data-id=1>One <b>10</b><li class=ad>Ad <li data-id=2>Two 20</ul>
  <p>Updated 12:34:56</p><script>no()</script></main><footer>end</footer>`;

test("pages: text as a reader sees it, selectors, ignored lines, removed parts", async () => {
  assert.is(
    await extractPageText(PAGE, { selector: "#main" }),
    "Prices\nOne 10\nAd\nTwo 20\nUpdated 12:34:56",
  );
  assert.is(
    await extractPageText(PAGE, { selector: "main", ignore: ["^Updated \\d"], remove: [".ad"] }),
    "Prices\nOne 10\nTwo 20",
  );
  assert.is((await extractPageText(PAGE, {})).split("\n")[0], "Home");
  const picks: [string, string][] = [
    ["li[data-id='2']", "Two 20"],
    ["main.big > ul > li:first-child b", "10"],
    ["h1 + ul li:nth-child(2)", "Ad"],
    ["li:not(.ad)", "One 10\nTwo 20"],
    ["ul ~ p, h1", "Prices\nUpdated 12:34:56"],
    ["[data-id^=1], li[data-id^=1] b", "One 10"],
    ["li:last-child", "Two 20"],
    ["MAIN.list#main h1", "Prices"],
  ];
  for (const [selector, text] of picks)
    assert.is(await extractPageText(PAGE, { selector }), text, selector);
  assert.match(
    await refusal(extractPageText(PAGE, { selector: ".gone" })),
    "No element of the page matches",
  );
  for (const bad of ["", "a[", "a >", "::before", "a:hover(", ",", "a b[x='1]"]) {
    const { code, param } = (await errorOf(
      extractPageText(PAGE, { selector: bad }),
    )) as PorticoError;
    assert.equal([code, param], ["invalid_request_error", "source.selector"], bad);
  }
});

test("back-off doubles to half an hour, Retry-After raises it, and hopeless responses go there at once", () => {
  const minute = 60_000;
  const [sooner, middle] = [0, 0.5];
  const row = [1, 2, 3, 10].map((errors) => backoffMs({ errors, intervalMs: 1_000 }, middle));
  assert.equal(row, [5_000, 10_000, 20_000, 30 * minute]);
  assert.is(backoffMs({ errors: 1, intervalMs: 24 * 60 * minute }, middle), minute);
  assert.is(backoffMs({ errors: 1, intervalMs: 1_000, status: 404 }, middle), 30 * minute);
  assert.is(backoffMs({ errors: 1, intervalMs: 1_000 }, sooner), 4_500);
  assert.is(
    backoffMs({ errors: 1, intervalMs: 1_000, retryAfterMs: 90_000 }, sooner),
    90_000,
    "no sooner than asked",
  );
  assert.is(backoffMs({ errors: 1, intervalMs: 1_000, retryAfterMs: 90_000 }, middle), 94_500);
  assert.is(backoffMs({ errors: 1, intervalMs: 1_000, retryAfterMs: 1e9 }, sooner), 60 * minute);
});

test.run();
