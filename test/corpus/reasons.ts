/** Why our reader and feedparser read a feed differently, where that is as it should be. */

export interface Comparison {
  file: string;
  text: string;
  /** What feedparser takes the format for; "" where it is none that it knows. */
  version: string;
  /** The date of each item in seconds, null without one, sorted. */
  expected: (number | null)[];
  found: (number | null)[];
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
    holds: ({ text }) => /LASTMOD/i.test(text),
  },
  {
    reason: "An Atom feed with `item` in place of `entry`, which Atom does not have.",
    holds: ({ text, found }) => found.length === 0 && /<feed[\s>]/.test(text) && /<item/.test(text),
  },
  {
    reason:
      "RSS has no element for the date that feedparser takes: an Atom element without its namespace, or one of a module.",
    holds: ({ text, expected, found }) =>
      /<(rss|rdf:RDF|\w+:RDF|RDF)/.test(text) &&
      expected.length === found.length &&
      found.every((time) => time === null),
  },
  {
    reason: "`dcterms:created` dates an item here where nothing else does.",
    holds: ({ text, expected }) =>
      /<dcterms:created/.test(text) && expected.every((time) => time === null),
  },
  {
    reason: "Of several dates of one kind the first one counts; feedparser takes the last one.",
    holds: ({ file }) => /_multiple_values\.xml$/.test(file),
  },
];

export function reasonFor(comparison: Comparison): string | undefined {
  return REASONS.find(({ holds }) => holds(comparison))?.reason;
}
