/** Feeds as they are found outside: namespaces under any prefix, document types in strange places, dates of all kinds. */
import * as assert from "uvu/assert";
import { parseFeed } from "../../../plugins/polls/sources/feeds/feed.ts";
import { parseFeedDate } from "../../../plugins/polls/sources/feeds/feed-date.ts";
import { test } from "../../support/suite.ts";

interface Value {
  id?: string;
  title?: string;
  link?: string;
  author?: string;
  published?: string;
  updated?: string;
  content?: string;
}
const values = async (text: string): Promise<Value[]> =>
  (await parseFeed(text)).map(({ value }) => value as Value);
const failure = (text: string): Promise<string> =>
  parseFeed(text).then(
    () => "",
    (error: Error) => error.message,
  );

const DC = "http://purl.org/dc/elements/1.1/";
const CONTENT = "http://purl.org/rss/1.0/modules/content/";
const ATOM = "http://www.w3.org/2005/Atom";

test("an element is recognised by its namespace, whatever its prefix", async () => {
  const [item] = await values(
    `<rss xmlns:dublin="${DC}" xmlns:c="${CONTENT}" xmlns:dc="urn:something-else"><channel><item>
      <title>T</title><link>http://x/1</link><dublin:creator>Ada</dublin:creator>
      <dublin:date>2026-05-01T00:00:00Z</dublin:date><c:encoded>whole</c:encoded>
      <dc:creator>no author</dc:creator></item></channel></rss>`,
  );
  assert.equal(
    [item?.author, item?.published, item?.content],
    ["Ada", "2026-05-01T00:00:00.000Z", "whole"],
  );
});

test("dates of RSS items in Dublin Core's terms", async () => {
  const terms = "http://purl.org/dc/terms/";
  const item = (dates: string) => `<item><title>T</title>${dates}</item>`;
  const feed = (dates: string) => `<rss xmlns:t="${terms}"><channel>${item(dates)}</channel></rss>`;
  const day = "2026-05-01T00:00:00Z";
  for (const name of ["issued", "created"])
    assert.is(
      (await values(feed(`<t:${name}>${day}</t:${name}>`)))[0]?.published,
      "2026-05-01T00:00:00.000Z",
    );
  const [changed] = await values(feed(`<t:modified>${day}</t:modified>`));
  assert.is(changed?.updated, "2026-05-01T00:00:00.000Z");
});

test("a feed whose own elements have a prefix, declared at the root or further in", async () => {
  const atom = `<x:feed xmlns:x="${ATOM}"><x:entry><x:id>1</x:id><x:title>T</x:title></x:entry></x:feed>`;
  const late = `<feed><entry xmlns="${ATOM}"><id>1</id><title>T</title></entry></feed>`;
  const rss = `<r:rss xmlns:r="http://purl.org/rss/1.0/"><r:channel><r:item><r:title>T</r:title></r:item></r:channel></r:rss>`;
  const unknown = `<rss xmlns="urn:my-own-rss"><channel><item><title>T</title></item></channel></rss>`;
  for (const text of [atom, late, rss, unknown])
    assert.is((await values(text))[0]?.title, "T", text);
});

test("the usual prefixes count where nobody declares them", async () => {
  const [item] = await values(
    "<rss><channel><item><title>T</title><dc:creator>Ada</dc:creator></item></channel></rss>",
  );
  assert.is(item?.author, "Ada");
});

test("a feed whose items are all foreign is an error, an empty one is not", async () => {
  const foreign = `<rss><channel><y:item xmlns:y="urn:foreign"><title>T</title></y:item></channel></rss>`;
  assert.match(await failure(foreign), "urn:foreign");
  const atom = `<feed xmlns="${ATOM}"><y:entry xmlns:y="urn:foreign"/></feed>`;
  assert.match(await failure(atom), "urn:foreign");
  assert.equal(await values("<rss><channel><title>t</title></channel></rss>"), []);
  const both = `<rss><channel><item><title>T</title></item><y:item xmlns:y="urn:foreign"/></channel></rss>`;
  assert.is((await values(both)).length, 1);
});

test("a document type within CDATA or a comment is text", async () => {
  const title = "<![CDATA[How to write <!DOCTYPE html> [today] ]]>";
  for (const before of [
    "",
    "<!-- <!DOCTYPE x [ --><?xml-stylesheet href='a'?>",
    "<?xml version='1.0'?>\n<!DOCTYPE rss [<!ENTITY a 'b'>]>",
  ]) {
    const [item] = await values(
      `${before}<rss><channel><item><title>${title}</title><link>http://x/1</link></item></channel></rss>`,
    );
    assert.match(item?.title ?? "", "<!DOCTYPE html> [today]", before);
    assert.is(item?.link, "http://x/1");
  }
});

test("tags in capitals", async () => {
  const [item] = await values(
    `<RSS><CHANNEL><ITEM><TITLE>T</TITLE><LINK>http://x/1</LINK><GUID ISPERMALINK="false">g</GUID><PUBDATE>1 May 2026</PUBDATE></ITEM></CHANNEL></RSS>`,
  );
  assert.equal(item, {
    id: "g",
    title: "T",
    link: "http://x/1",
    published: "2026-05-01T00:00:00.000Z",
  });
});

test("titles that were escaped twice", async () => {
  const rss = (title: string) =>
    `<rss><channel><item><title>${title}</title></item></channel></rss>`;
  assert.is((await values(rss("AT&amp;amp;T")))[0]?.title, "AT&T");
  assert.is((await values(rss("a &amp; b")))[0]?.title, "a & b");
  assert.is((await values(rss("a &amp;nosuch; b")))[0]?.title, "a &nosuch; b");
  const atom = (type: string) =>
    `<feed xmlns="${ATOM}"><entry><title type="${type}">AT&amp;amp;T</title></entry></feed>`;
  assert.is((await values(atom("html")))[0]?.title, "AT&T");
  assert.is((await values(atom("text")))[0]?.title, "AT&amp;T", "plain text means what it says");
});

const MORNING = "2026-01-31T09:00:00.000Z";
const dates: Record<string, string | undefined> = {
  "Sat, 31 Jan 2026 09:00:00 GMT": MORNING,
  "Sat, 31 Jan 2026 09:00:00": MORNING,
  "31 Jan 26 09:00": MORNING,
  "Sat, 31 Jan 2026 04:00:00 EST": MORNING,
  "Sat, 31 Jan 2026 10:00:00 CET": MORNING,
  "Sat, 31 Jan 2026 10:00:00 +0100 (CET)": MORNING,
  "31 Jan 2026 18:00 JST": MORNING,
  "Sat, 31 Jan 2026 08:00:00 A": MORNING,
  "Sat, 31 Jan 2026 10:00:00 N": MORNING,
  "Sat, 31 Jan 2026 09:00:00 Z": MORNING,
  "Sat, 31 Jan 2026 09:00:00 UT": MORNING,
  "Saturday, 31-Jan-26 09:00:00 GMT": MORNING,
  "Sat Jan 31 09:00:00 2026": MORNING,
  "Sat Jan 31 09:00:00 UTC 2026": MORNING,
  "January 31, 2026 9:00 AM": MORNING,
  "2026-01-31T09:00:00Z": MORNING,
  "2026-01-31T09:00:00": MORNING,
  "2026-01-31 09:00": MORNING,
  "2026-01-31T10:00:00.25+01:00": MORNING,
  "2026-01-31T10:00+0100": MORNING,
  "20260131090000": MORNING,
  "20260131": "2026-01-31T00:00:00.000Z",
  "2026-01": "2026-01-01T00:00:00.000Z",
  "2026": "2026-01-01T00:00:00.000Z",
  "31 Feb 2026": undefined,
  "2026-13-01": undefined,
  "31 Jan 2026 09:00 J": undefined,
  "31 Foo 2026": undefined,
  yesterday: undefined,
  "": undefined,
};
for (const [text, expected] of Object.entries(dates))
  test(`the date ${text || "(empty)"}`, () => {
    const ms = parseFeedDate(text);
    assert.is(
      ms === undefined ? undefined : new Date(Math.floor(ms / 1000) * 1000).toISOString(),
      expected,
    );
  });

test.run();
