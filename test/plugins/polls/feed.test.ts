import { readFileSync } from "node:fs";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { decodeText } from "../../../plugins/strings/decode.ts";
import { parseFeed } from "../../../plugins/polls/sources/feeds/feed.ts";
import type { FeedItem } from "../../../plugins/polls/sources/feeds/feed-item.ts";

const values = async (text: string): Promise<FeedItem[]> =>
  (await parseFeed(text)).map((item) => item.value as FeedItem);
const failure = async (text: string): Promise<string> => {
  try {
    await parseFeed(text);
  } catch (error) {
    assert.is((error as Error).name, "CheckFailed", String(error));
    return (error as Error).message;
  }
  throw new Error("was read");
};

test("RSS 2.0: guid, link, dates, CDATA, namespaces; oldest first by date", async () => {
  const items = await values(`<?xml version="1.0" encoding="utf-8"?>
    <rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:media="m">
    <channel><title>News</title><atom:link href="http://self"/>
      <item><media:title>no</media:title><title>Second &amp; last</title><link>http://x/2</link><guid isPermaLink="false">2</guid>
        <pubDate>Sat, 02 May 2026 10:00:00 GMT</pubDate><description><![CDATA[<b>bold</b> &amp;]]></description>
        <content:encoded>whole</content:encoded><dc:creator>Ann</dc:creator><category>a</category><category>b</category></item>
      <item><title>First</title><link>http://x/1</link><guid>http://x/1</guid><pubDate>Fri, 01 May 2026 10:00:00 +0200</pubDate></item>
    </channel></rss>`);
  assert.equal(items, [
    { id: "http://x/1", title: "First", link: "http://x/1", published: "2026-05-01T08:00:00.000Z" },
    {
      id: "2",
      title: "Second & last",
      link: "http://x/2",
      summary: "<b>bold</b> &",
      content: "whole",
      author: "Ann",
      published: "2026-05-02T10:00:00.000Z",
      categories: ["a", "b"],
    },
  ]);
});

test("RSS 0.91 with a document type is read, and without dates the document's order is reversed", async () => {
  const items =
    await values(`<?xml version="1.0"?><!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN" "http://my.netscape.com/rss-0.91.dtd">
    <rss version="0.91"><channel><title>t</title>
    <item><title>Caf&eacute; new</title><link>http://x/2</link></item><item><title>old</title><link>http://x/1</link></item></channel></rss>`);
  assert.equal(items, [
    { title: "old", link: "http://x/1" },
    { title: "Café new", link: "http://x/2" },
  ]);
});

test("RDF (RSS 1.0 and 0.90)", async () => {
  const items =
    await values(`<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel rdf:about="c"><title>t</title></channel>
    <item rdf:about="http://x/1"><title>One</title><link>http://x/1</link><dc:date>2026-05-01T00:00:00Z</dc:date></item></rdf:RDF>`);
  assert.equal(items, [
    { id: "http://x/1", title: "One", link: "http://x/1", published: "2026-05-01T00:00:00.000Z" },
  ]);
});

test("Atom: alternate link, markup in the content, several links and authors, a prefix", async () => {
  const entry = `<P:id>urn:1</P:id><P:title type="html">A &lt;b&gt;</P:title><P:link rel="self" href="http://x/self"/><P:link rel="alternate" href="http://x/1?a=1&amp;b=2"/>
    <P:author><P:name>Ann</P:name></P:author><P:updated>2026-05-01T12:00:00+02:00</P:updated><P:content type="xhtml"><div><p>one</p><p>two</p></div></P:content><P:category term="t"/>`;
  for (const [prefix, root] of [
    ["", "feed"],
    ["atom:", "atom:feed"],
  ] as const) {
    const items = await values(
      `<${root} xmlns:atom="a"><${prefix}entry>${entry.replaceAll("P:", prefix)}</${prefix}entry></${root}>`,
    );
    assert.equal(items, [
      {
        id: "urn:1",
        title: "A <b>",
        link: "http://x/1?a=1&b=2",
        content: "one two",
        author: "Ann",
        updated: "2026-05-01T10:00:00.000Z",
        categories: ["t"],
      },
    ]);
  }
});

test("JSON Feed", async () => {
  const feed = {
    version: "https://jsonfeed.org/version/1.1",
    items: [
      {
        id: 7,
        url: "http://x/7",
        title: "Seven",
        content_text: "c",
        tags: ["t"],
        authors: [{ name: "Ann" }],
        date_published: "2026-05-01T00:00:00Z",
      },
    ],
  };
  assert.equal(await values(JSON.stringify(feed)), [
    {
      id: "7",
      title: "Seven",
      link: "http://x/7",
      content: "c",
      author: "Ann",
      published: "2026-05-01T00:00:00.000Z",
      categories: ["t"],
    },
  ]);
});

test("a feed without items is a feed", async () => {
  assert.equal(await parseFeed("<rss><channel><title>t</title></channel></rss>"), []);
  assert.equal(await parseFeed("<feed></feed>"), []);
  assert.equal(await parseFeed('{"items":[]}'), []);
});

test("a document that is not a feed is an error that says so", async () => {
  assert.match(await failure("<!DOCTYPE html><html><body>error</body></html>"), "web page");
  assert.match(await failure("<html><body>Service unavailable</body></html>"), "web page");
  assert.match(await failure("Service unavailable"), "neither XML nor JSON");
  assert.match(await failure('{"error":"x"}'), "no items");
  assert.match(await failure("{not json"), "valid JSON");
  assert.match(await failure("<other><a/></other>"), "no rss");
  assert.match(await failure("<!DOCTYPE rss [ <!ENTITY a 'x'>"), "DOCTYPE declaration");
});

test("entities of the sender's own are not expanded; deep nesting is refused", async () => {
  const lol = Array.from(
    { length: 9 },
    (_, i) => `<!ENTITY lol${i + 1} "${`&lol${i};`.repeat(10)}">`,
  ).join("");
  const [item] =
    await values(`<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol0 "lol">${lol}<!ENTITY file SYSTEM "file:///etc/passwd">]>
    <rss><channel><item><title>&lol9; &file;</title></item></channel></rss>`);
  assert.is(item!.title, "&lol9; &file;");
  assert.match(
    await failure(`<rss>${"<a>".repeat(10_000)}${"</a>".repeat(10_000)}</rss>`),
    "nested too deeply",
  );
  assert.equal(
    await values(
      "<rss><channel><item><__proto__><polluted>1</polluted></__proto__></item></channel></rss>",
    ),
    [{}],
  );
  assert.is(({} as Record<string, unknown>)["polluted"], undefined);
});

test("a feed of more items, or of more elements, than anybody writes is refused before anything is made of it", async () => {
  const many = 100_001;
  for (const feed of [
    `<rss><channel>${"<item/>".repeat(many)}</channel></rss>`,
    `<feed>${"<entry/>".repeat(many)}</feed>`,
    JSON.stringify({ items: Array(many).fill({}) }),
  ])
    assert.match(await failure(feed), `lists ${many} items, more than 100000`);
  assert.match(
    await failure(`<rss><channel><item>${"<a/>".repeat(500_000)}</item></channel></rss>`),
    "500000 elements",
  );
});

test("an Atom entry without a link to its page has another of its own links, and never one of its license or editor", async () => {
  const linkOf = async (links: string) => {
    const [item] = await parseFeed(
      `<feed><entry><id>a</id>${links}</entry></feed>`,
      "http://x.test/",
    );
    return (item!.value as FeedItem).link;
  };
  const license = '<link rel="license" href="/l"/>';
  const edit = '<link rel="edit" href="/e"/><link rel="replies" href="/r"/>';
  assert.is(await linkOf(license), undefined);
  assert.is(await linkOf(edit), undefined);
  assert.is(await linkOf(`${license}${edit}<link rel="self" href="/s"/>`), "http://x.test/s");
  assert.is(await linkOf(`${license}<link rel="enclosure" href="/a.mp3"/>`), "http://x.test/a.mp3");
  assert.is(await linkOf(`${edit}<link href="/page"/>`), "http://x.test/page");
});

test("links are absolute, relative to the address of the feed or the one that it states; an item is identified by them", async () => {
  const url = "http://x.test/feeds/all.xml";
  const links = async (text: string) =>
    (await parseFeed(text, url)).map(({ value, link }) => [(value as FeedItem).link, link]);
  const atom = (base: string) =>
    `<feed${base}><entry><id>a</id><link rel="self" href="/s"/><link href="e/1?a=ü"/></entry></feed>`;
  assert.equal(await links(atom("")), [["http://x.test/feeds/e/1?a=%C3%BC", "e/1?a=ü"]]);
  assert.equal(await links(atom(' xml:base="//y.test/blog/"')), [
    ["http://y.test/blog/e/1?a=%C3%BC", "e/1?a=ü"],
  ]);
  assert.equal(await links(atom(' xml:base="http://["')), [
    ["http://x.test/feeds/e/1?a=%C3%BC", "e/1?a=ü"],
  ]);
  assert.equal(await links("<rss><channel><item><link>/n/1</link></item></channel></rss>"), [
    ["http://x.test/n/1", "/n/1"],
  ]);
  assert.equal(await links('{"items":[{"id":"1","url":"../up"}]}'), [
    ["http://x.test/up", "../up"],
  ]);
  assert.equal(await links("<rss><channel><item><link>http://[</link></item></channel></rss>"), [
    ["http://[", "http://["],
  ]);
  assert.equal(await links("<rss><channel><item><title>t</title></item></channel></rss>"), [
    [undefined, undefined],
  ]);
});

test("a feed's encoding comes from the declaration, the header or the byte order mark", async () => {
  const xml = (encoding: string): string =>
    `<?xml version="1.0" encoding="${encoding}"?><rss><channel><item><title>Grüße</title></item></channel></rss>`;
  const title = async (bytes: Buffer, type = "") =>
    (await values(decodeText(bytes, type)))[0]!.title!;
  assert.is(await title(Buffer.from(xml("ISO-8859-1"), "latin1")), "Grüße");
  assert.is(await title(Buffer.from(xml("utf-8"), "utf8"), "text/xml; charset=utf-8"), "Grüße");
  assert.is(
    await title(Buffer.from(xml("utf-8"), "latin1")),
    "Grüße",
    "said to be UTF-8, but is not",
  );
  assert.is(
    await title(Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(xml("utf-16"), "utf16le")])),
    "Grüße",
  );
  assert.is(await title(Buffer.from(xml("x-nonsense"), "utf8")), "Grüße");
});

test("UTF-16 without a byte order mark is recognised by its bytes, and a wrong declaration of it is ignored", async () => {
  const xml = (before = "") =>
    `${before}<rss><channel><item><title>Grüße</title></item></channel></rss>`;
  const title = async (bytes: Buffer, type = "") =>
    (await values(decodeText(bytes, type)))[0]!.title!;
  for (const declaration of [
    '<?xml version="1.0" encoding="utf-16"?>',
    '<?xml version="1.0"?>',
    "",
  ]) {
    const wide = Buffer.from(xml(declaration), "utf16le");
    assert.is(await title(wide), "Grüße");
    assert.is(await title(Buffer.from(wide).swap16()), "Grüße");
    assert.is(await title(Buffer.from(wide).swap16(), "text/xml; charset=utf-16"), "Grüße");
    assert.is(await title(Buffer.from(xml(declaration), "utf8")), "Grüße", declaration);
  }
  assert.is(
    await title(Buffer.from(xml('<?xml version="1.0" encoding="UTF-16LE"?>'), "utf8")),
    "Grüße",
  );
});

test("entities are decoded only where they end; in titles twice, as many feeds escape them twice", async () => {
  const [item] = await values(
    "<rss><channel><item><title>&amp;lt; &#233; &#xe9; &unknown; &eacute;</title><link>http://x/?a=1&copy=2</link></item></channel></rss>",
  );
  assert.is(item!.title, "< é é &unknown; é");
  assert.is(item!.link, "http://x/?a=1&copy=2");
});

test("the test file itself is no feed", async () => {
  assert.match(await failure(readFileSync(import.meta.filename, "utf8")), "neither XML nor JSON");
});

test.run();
