/** RSS 0.9x to 2.0, RDF, Atom and JSON Feed; the only importer of fast-xml-parser. */
import { XMLParser, XMLValidator } from "fast-xml-parser";
import type { Item } from "../identity.ts";
import { decodeText } from "./decode.ts";
import { decodeEntities } from "./entities.ts";
import { fetchSource } from "./fetch.ts";
import { type Answered, type Asked, CheckFailed } from "./source.ts";

type Node = Record<string, unknown>;

export interface FeedItem {
  id?: string;
  title?: string;
  link?: string;
  summary?: string;
  content?: string;
  author?: string;
  /** ISO 8601 where the feed's date is understood, else as it stands there. */
  published?: string;
  updated?: string;
  categories?: string[];
}

export function readFeed(asked: Asked): Promise<Answered> {
  return fetchSource(asked, ({ body, contentType }) => ({
    kind: "items",
    items: feedItems(decodeText(body, contentType)),
  }));
}

/** The items of a feed, oldest first. Throws `CheckFailed` for what is no feed. */
export function feedItems(text: string): Item[] {
  const trimmed = text.replace(/^\uFEFF/, "").trimStart();
  const items = trimmed.startsWith("{") ? jsonFeed(trimmed) : xmlFeed(trimmed);
  return oldestFirst(items).map((value) => ({
    value,
    ...(value.id === undefined ? {} : { id: value.id }),
    ...(value.link === undefined ? {} : { link: value.link }),
  }));
}

/** By date where every item has one; else the order of the document turned round, as feeds begin with the newest. */
function oldestFirst(items: FeedItem[]): FeedItem[] {
  const turned = [...items].reverse();
  const time = (item: FeedItem): number => Date.parse(item.published ?? item.updated ?? "");
  if (turned.some((item) => Number.isNaN(time(item)))) return turned;
  return turned.sort((a, b) => time(a) - time(b));
}

const MAX_DEPTH_HINT = 64;
const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: "@",
  textNodeName: "#text",
  parseTagValue: false,
  parseAttributeValue: false,
  // Entities are decoded by ourselves: a document type of the sender's must not define any.
  processEntities: false,
  isArray: (name) => /^(?:[\w.-]+:)?(item|entry|link|category|author|creator)$/.test(name),
});

/** Without the document type: what it declares (entities above all) is not to be had. */
function withoutDoctype(xml: string): string {
  const at = xml.slice(0, 20_000).search(/<!DOCTYPE/i);
  if (at < 0) return xml;
  let depth = 0;
  for (let i = at; i < xml.length; i++) {
    const char = xml[i];
    if (char === "[") depth++;
    else if (char === "]") depth--;
    else if (char === ">" && depth <= 0) return xml.slice(0, at) + xml.slice(i + 1);
  }
  throw new CheckFailed("The document type of the feed does not end.");
}

function xmlFeed(text: string): FeedItem[] {
  if (!text.startsWith("<")) throw new CheckFailed("The answer is no feed: it is neither XML nor JSON.");
  if (/^<(!doctype\s+html|html[\s>])/i.test(text)) throw new CheckFailed("The answer is a web page, not a feed.");
  const xml = withoutDoctype(text);
  if (deepest(xml) > MAX_DEPTH_HINT) throw new CheckFailed("The feed is nested too deeply.");
  let document: Node;
  try {
    document = parser.parse(xml) as Node;
  } catch (cause) {
    throw new CheckFailed("The feed is not well-formed XML.", { cause });
  }
  const root = Object.entries(document).find(([name]) => /^(?:[\w.-]+:)?(rss|rdf|feed|channel)$/i.test(name));
  if (root === undefined) {
    const problem = XMLValidator.validate(xml);
    const where = problem === true ? "" : ` (line ${problem.err.line}: ${problem.err.msg})`;
    throw new CheckFailed(`The answer is no feed: it has no rss, RDF or feed element${where}.`);
  }
  const [name, node] = root as [string, Node | string];
  if (typeof node === "string") return [];
  const prefix = name.includes(":") ? name.slice(0, name.indexOf(":") + 1) : "";
  if (/feed$/i.test(name)) return list(child(node, "entry", prefix)).map((entry) => atomEntry(entry as Node, prefix));
  const channels = list(child(node, "channel", prefix)) as Node[];
  const rows = [
    ...list(child(node, "item", prefix)),
    ...channels.flatMap((channel) => list(child(channel, "item", prefix))),
  ];
  return rows.map((row) => rssItem(row as Node, prefix));
}

/** How deep elements are nested, roughly: enough to refuse what was made to exhaust us. */
function deepest(xml: string): number {
  let [depth, most] = [0, 0];
  for (const [tag] of xml.matchAll(/<(?:!\[CDATA\[[\s\S]*?\]\]>|!--[\s\S]*?-->|[?!][^>]*>|\/?[A-Za-z][^>]*>)/g)) {
    if (tag.startsWith("<!") || tag.startsWith("<?")) continue;
    if (tag.startsWith("</")) depth--;
    else if (!tag.endsWith("/>") && ++depth > most) most = depth;
  }
  return most;
}

const list = (value: unknown): unknown[] => (value === undefined ? [] : Array.isArray(value) ? value : [value]);

/** A child by its local name: without a prefix, with the document's, or with any of those named. */
function child(node: unknown, name: string, ...prefixes: string[]): unknown {
  if (typeof node !== "object" || node === null) return undefined;
  for (const prefix of ["", ...prefixes]) {
    const full = `${prefix}${name}`;
    if (Object.hasOwn(node, full)) return (node as Node)[full];
  }
  return undefined;
}

/** The text of an element, of all its descendants where it holds markup. */
function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (Array.isArray(value)) return value.map(textOf).find((text) => text !== undefined && text !== "");
  if (typeof value !== "object") return decodeEntities(String(value)).trim() || undefined;
  const parts = Object.entries(value as Node).flatMap(([key, inner]) =>
    key.startsWith("@") ? [] : list(inner).map((one) => textOf(one) ?? ""),
  );
  return (
    parts
      .filter((part) => part !== "")
      .join(" ")
      .trim() || undefined
  );
}

const attribute = (node: unknown, name: string): string | undefined => {
  const value = child(node, `@${name}`);
  return typeof value === "string" ? decodeEntities(value).trim() || undefined : undefined;
};

function dateOf(value: unknown): string | undefined {
  const text = textOf(value);
  if (text === undefined) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? text : new Date(ms).toISOString();
}

/** Without the keys that have no value. */
function filled(item: FeedItem): FeedItem {
  return Object.fromEntries(
    Object.entries(item).filter(([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0)),
  );
}

function rssItem(row: Node, prefix: string): FeedItem {
  const links = list(child(row, "link", prefix));
  const link = links.map((one) => textOf(one) ?? attribute(one, "href")).find((one) => one !== undefined);
  const guid = child(row, "guid", prefix);
  const id = textOf(guid) ?? attribute(row, "rdf:about");
  const permalink =
    id !== undefined && /^https?:/.test(id) && attribute(guid, "isPermaLink") !== "false" ? id : undefined;
  return filled({
    id,
    title: textOf(child(row, "title", prefix, "dc:")),
    link: link ?? permalink ?? attribute(child(row, "enclosure", prefix), "url"),
    summary: textOf(child(row, "description", prefix, "dc:", "itunes:summary")),
    content: textOf(child(row, "content:encoded")),
    author: textOf(child(row, "author", prefix)) ?? textOf(child(row, "dc:creator")),
    published: dateOf(child(row, "pubDate", prefix)) ?? dateOf(child(row, "dc:date")),
    categories: list(child(row, "category", prefix)).flatMap((one) => textOf(one) ?? []),
  });
}

function atomEntry(entry: Node, prefix: string): FeedItem {
  const links = list(child(entry, "link", prefix));
  const isMain = (one: unknown): boolean => [undefined, "alternate"].includes(attribute(one, "rel"));
  const link = links.find(isMain) ?? links[0];
  const authors = list(child(entry, "author", prefix));
  return filled({
    id: textOf(child(entry, "id", prefix)),
    title: textOf(child(entry, "title", prefix)),
    link: attribute(link, "href") ?? textOf(link),
    summary: textOf(child(entry, "summary", prefix)),
    content: textOf(child(entry, "content", prefix)),
    author: textOf(authors.map((author) => child(author, "name", prefix))),
    published: dateOf(child(entry, "published", prefix) ?? child(entry, "issued", prefix)),
    updated: dateOf(child(entry, "updated", prefix) ?? child(entry, "modified", prefix)),
    categories: list(child(entry, "category", prefix)).flatMap((one) => attribute(one, "term") ?? []),
  });
}

function jsonFeed(text: string): FeedItem[] {
  let document: Node;
  try {
    document = JSON.parse(text) as Node;
  } catch (cause) {
    throw new CheckFailed("The answer is neither XML nor valid JSON.", { cause });
  }
  if (!Array.isArray(document["items"])) throw new CheckFailed("The answer is no JSON Feed: it has no items.");
  const word = (value: unknown): string | undefined =>
    typeof value === "string" || typeof value === "number" ? String(value) : undefined;
  return (document["items"] as unknown[]).flatMap((row) => {
    if (typeof row !== "object" || row === null) return [];
    const item = row as Node;
    const author = child(list(item["authors"])[0] ?? item["author"], "name");
    return filled({
      id: word(item["id"]),
      title: word(item["title"]),
      link: word(item["url"]) ?? word(item["external_url"]),
      summary: word(item["summary"]),
      content: word(item["content_text"]) ?? word(item["content_html"]),
      author: word(author),
      published: dateOf(item["date_published"]),
      updated: dateOf(item["date_modified"]),
      categories: list(item["tags"]).flatMap((tag) => word(tag) ?? []),
    });
  });
}
