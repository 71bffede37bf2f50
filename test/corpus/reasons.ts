/** Why our reader and feedparser read a feed differently, where that is as it should be. */

export interface Comparison {
  file: string;
  text: string;
  /** What feedparser takes the format for; "" where it is none that it knows. */
  version: string;
  /** What is compared: the first of these that differs. */
  field: "date" | "title" | "link";
  /** Of each item: the date in seconds (null without one), the text of the title, or the link; sorted. */
  expected: readonly (number | string | null)[];
  found: readonly (number | string | null)[];
  error: string | undefined;
}

interface Reason {
  reason: string;
  holds(comparison: Comparison): boolean;
}

const REASONS: readonly Reason[] = [
  {
    reason:
      "The file is in UTF-32 or EBCDIC, which no feed of today uses; it is an error, as in browsers.",
    holds: ({ file, error }) =>
      error !== undefined && /^encoding\/.*(utf.?32|ucs.?4|x80_|bozo_)/.test(file),
  },
  {
    reason: "The XML does not end or breaks off: that is an error here, never a change.",
    holds: ({ error }) => error !== undefined && /cut off/.test(error),
  },
  {
    reason:
      "The file is no feed (it is empty, or has no markup): an error, where feedparser finds nothing.",
    holds: ({ error, expected }) =>
      error !== undefined && /is no feed/.test(error) && expected.length === 0,
  },
  {
    reason: "CDF, a format of 1997, has dates in attributes (LASTMOD), which are not read.",
    holds: ({ field, text }) => field === "date" && /LASTMOD/i.test(text),
  },
  {
    reason: "An Atom feed with `item` in place of `entry`, which Atom does not have.",
    holds: ({ text, found }) => found.length === 0 && /<feed[\s>]/.test(text) && /<item/.test(text),
  },
  {
    reason:
      "RSS has no element for the date that feedparser takes: an Atom element without its namespace, or one of a module.",
    holds: ({ field, text, expected, found }) =>
      field === "date" &&
      /<(rss|rdf:RDF|\w+:RDF|RDF)/.test(text) &&
      expected.length === found.length &&
      found.every((time) => time === null),
  },
  {
    reason: "`dcterms:created` dates an item here where nothing else does.",
    holds: ({ field, text, expected }) =>
      field === "date" && /<dcterms:created/.test(text) && expected.every((time) => time === null),
  },
  {
    reason: "Of several dates of one kind the first one counts; feedparser takes the last one.",
    holds: ({ file }) => /_multiple_values\.xml$/.test(file),
  },
  {
    reason: "Atom 0.3 allowed titles in base64, which no feed of today has; they stay as they are.",
    holds: ({ field, text }) => field === "title" && /base64/.test(text),
  },
  {
    reason:
      "feedparser takes the title of something within the item (an image, a media file); the item has none.",
    holds: ({ field, text, found }) =>
      field === "title" &&
      found.every((title) => title === "") &&
      /<media:title|<image>/.test(text),
  },
  {
    reason:
      "A title is a text here, which is never shown as HTML: a script in it is text, too. feedparser removes it.",
    holds: ({ field, file }) => field === "title" && /^wellformed\/sanitize\//.test(file),
  },
  {
    reason: "The encoding is a guess in both: the feed declares none, or a wrong one.",
    holds: ({ field, file }) => field === "title" && /^illformed\/chardet\//.test(file),
  },
  {
    reason:
      "An id is a name and not an address (RFC 4287, 4.2.6): where there is no link, feedparser takes the id.",
    holds: ({ field, text, found }) =>
      field === "link" && found.every((link) => link === "") && /<(\w+:)?(id|guid)\b/.test(text),
  },
  {
    reason: "Without a link to the page itself, another one of the entry is better than none.",
    holds: ({ field, text, expected }) =>
      field === "link" && expected.every((link) => link === "") && /<link[^>]*\brel=/.test(text),
  },
  {
    reason: "An item of RSS 1.0 without a link is found at its `rdf:about`.",
    holds: ({ field, text, expected }) =>
      field === "link" && expected.every((link) => link === "") && /rdf:about/.test(text),
  },
  {
    reason: "CDF, a format of 1997, has links in attributes (HREF), which are not read.",
    holds: ({ field, text }) => field === "link" && /<item[^>]*\bhref=/i.test(text),
  },
  {
    reason: "An address that no program can open stays as it is written; feedparser drops it.",
    holds: ({ field, found }) =>
      field === "link" && found.every((link) => !URL.canParse(String(link))),
  },
];

export function reasonFor(comparison: Comparison): string | undefined {
  return REASONS.find(({ holds }) => holds(comparison))?.reason;
}
