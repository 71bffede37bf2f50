/**
 * RSS 0.9x to 2.0, RDF, Atom and JSON Feed.
 *
 * Our own mapping on htmlparser2. Measured against feedsmith 3.0.1 on the feeds of feedparser's corpus: of 1,732
 * well-formed ones it takes 1,461 and of 18 ill-formed 11, for 4 MB more in the package; 10,000 items (490 kB) take it
 * 160 ms, this 40 ms.
 */
import { TimeSlices } from "../../time-slices.ts";
import type { Item } from "../../identity.ts";
import { decodeHTMLStrict } from "entities";
import { decodeText, parseUrl, shorten } from "portico/strings";
import { type FeedItem, fillItem, isoOr } from "./feed-item.ts";
import { fetchSource } from "../fetch.ts";
import { parseFeedDate } from "./feed-date.ts";
import { jsonFeed } from "./json-feed.ts";
import { CheckFailed, countable, type ReadRequest, type ReadResult } from "../source.ts";
import type { Vocabulary } from "./vocabularies.ts";
import { attributeOf, childrenOf, namesakesOf, parseXml, textOf, type XmlElement } from "./xml.ts";

/** Relations of Atom links that lead to something else than the entry: its license, its editor, its comments. */
const ABOUT_ANOTHER = new Set(["license", "edit", "edit-media", "replies"]);

export function readFeed(request: ReadRequest): Promise<ReadResult> {
  return fetchSource(request, async ({ body, contentType, url }) => ({
    kind: "items",
    items: await feedItems(decodeText(body, contentType), url),
  }));
}

/**
 * The items of the feed at `url`, oldest first. Throws `CheckFailed` for what is no feed, or only the beginning of one.
 * An item is identified by its link as written, because the address of the feed may change.
 */
export async function feedItems(text: string, url?: string): Promise<Item[]> {
  const trimmed = text.replace(/^\uFEFF/, "").trim();
  const { items, base } = trimmed.startsWith("{")
    ? { items: await jsonFeed(trimmed), base: undefined }
    : await xmlFeed(trimmed);
  const place = base === undefined ? url : (parseUrl(base, url)?.href ?? url);
  return TimeSlices.map(await oldestFirst(items), (item) => {
    const { id, link } = item;
    const whole =
      link === undefined || place === undefined ? link : (parseUrl(link, place)?.href ?? link);
    return { value: whole === link ? item : { ...item, link: whole }, id, link };
  });
}

/** By date where every item has one; else the order of the document turned round, as feeds begin with the newest. */
async function oldestFirst(items: FeedItem[]): Promise<FeedItem[]> {
  const turned = items.toReversed();
  const dated = await TimeSlices.map(turned, (item) => ({
    item,
    time: parseFeedDate(item.published ?? item.updated ?? "") ?? Number.NaN,
  }));
  if (dated.some(({ time }) => Number.isNaN(time))) return turned;
  return dated.sort((a, b) => a.time - b.time).map(({ item }) => item);
}

/** `base`: what the feed says its links begin at. */
async function xmlFeed(text: string): Promise<{ items: FeedItem[]; base: string | undefined }> {
  if (!text.startsWith("<"))
    throw new CheckFailed("The response is not a feed: it is neither XML nor JSON.");
  if (/^<(!doctype\s+html|html[\s>])/i.test(text))
    throw new CheckFailed("The response is a web page, not a feed.");
  const root = await parseXml(text);
  const base = attributeOf(root, "xml:base");
  if (root.name === "feed") {
    const core = coreOf(root, "atom");
    const entries = countable(itemsIn([root], "entry", core));
    return { items: await TimeSlices.map(entries, (entry) => atomEntry(entry, core)), base };
  }
  if (!["rss", "rdf", "channel"].includes(root.name))
    throw new CheckFailed("The response is not a feed: it has no rss, RDF or feed element.");
  const core = coreOf(root, "rss");
  const places = [root, ...childrenOf(root, "channel", ...core)];
  const rows = countable(itemsIn(places, "item", core));
  return { items: await TimeSlices.map(rows, (row) => rssItem(row, core)), base };
}

type Core = readonly (string | undefined)[];

/** The vocabularies of a feed's own elements: none, the usual one, and whatever its root has. */
function coreOf(root: XmlElement, usual: Vocabulary): Core {
  return root.vocabulary === "rdf" ? [undefined, usual] : [undefined, usual, root.vocabulary];
}

/** Throws `CheckFailed` where all items belong to a vocabulary that is none of a feed's: an empty feed is something else. */
function itemsIn(places: readonly XmlElement[], name: string, core: Core): XmlElement[] {
  const items = places.flatMap((place) => namesakesOf(place, name));
  const own = items.filter(({ vocabulary }) => core.includes(vocabulary));
  const [foreign] = items;
  if (own.length === 0 && foreign)
    throw new CheckFailed(
      `The feed has items, but in the namespace ${shorten(String(foreign.vocabulary), 100)}, which no feed format uses.`,
    );
  return own;
}

const firstText = (elements: readonly XmlElement[]): string | undefined =>
  elements.map(textOf).find((text) => text !== undefined);

/** A title is text, but many feeds escape it twice: `AT&amp;amp;T`. */
function plainTitle(text: string | undefined): string | undefined {
  if (text === undefined || !/&(?:#\d+|#x[\da-f]+|\w+);/i.test(text)) return text;
  return decodeHTMLStrict(text);
}

function rssItem(row: XmlElement, core: Core): FeedItem {
  const text = (name: string, ...vocabularies: Core) =>
    firstText(childrenOf(row, name, ...vocabularies));
  const links = childrenOf(row, "link", ...core);
  const link = links
    .map((element) => textOf(element) ?? attributeOf(element, "href"))
    .find((text) => text !== undefined);
  const [guid] = childrenOf(row, "guid", ...core);
  const id = textOf(guid) ?? attributeOf(row, "rdf:about");
  const permalink =
    id !== undefined && /^https?:/.test(id) && attributeOf(guid, "isPermaLink") !== "false"
      ? id
      : undefined;
  return fillItem({
    id,
    title: plainTitle(text("title", ...core, "dc")),
    link: link ?? permalink ?? attributeOf(childrenOf(row, "enclosure", ...core)[0], "url"),
    summary: text("description", ...core, "dc") ?? text("summary", "itunes"),
    content: text("encoded", "content"),
    author: text("author", ...core) ?? text("creator", "dc"),
    published: isoOr(
      text("pubdate", ...core) ??
        text("date", "dc") ??
        text("issued", "dc") ??
        text("created", "dc"),
    ),
    updated: isoOr(text("modified", "dc")),
    categories: childrenOf(row, "category", ...core).flatMap((element) => textOf(element) ?? []),
  });
}

function atomEntry(entry: XmlElement, core: Core): FeedItem {
  const text = (name: string) => firstText(childrenOf(entry, name, ...core));
  const [title] = childrenOf(entry, "title", ...core);
  const isHtmlTitle = /html/i.test(attributeOf(title, "type") ?? "");
  const links = childrenOf(entry, "link", ...core);
  const relOf = (element: XmlElement): string => attributeOf(element, "rel") ?? "alternate";
  const link =
    links.find((link) => relOf(link) === "alternate") ??
    links.find((link) => !ABOUT_ANOTHER.has(relOf(link)));
  return fillItem({
    id: text("id"),
    title: isHtmlTitle ? plainTitle(text("title")) : text("title"),
    link: attributeOf(link, "href") ?? textOf(link),
    summary: text("summary"),
    content: text("content"),
    author: firstText(
      childrenOf(entry, "author", ...core).flatMap((author) => childrenOf(author, "name", ...core)),
    ),
    published: isoOr(text("published") ?? text("issued")),
    updated: isoOr(text("updated") ?? text("modified")),
    categories: childrenOf(entry, "category", ...core).flatMap(
      (element) => attributeOf(element, "term") ?? [],
    ),
  });
}
