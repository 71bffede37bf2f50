/**
 * Finds the vocabulary of an element: by its namespace, regardless of the prefix, or by the usual prefix if no
 * namespace is declared.
 */

export type Vocabulary = "rss" | "atom" | "rdf" | "dc" | "content" | "itunes";

const NAMESPACES: ReadonlyMap<string, Vocabulary> = new Map([
  ["http://purl.org/rss/1.0", "rss"],
  ["http://my.netscape.com/rdf/simple/0.9", "rss"],
  ["http://channel.netscape.com/rdf/simple/0.9", "rss"],
  ["http://my.netscape.com/publish/formats/rss-0.91.dtd", "rss"],
  ["http://backend.userland.com/rss", "rss"],
  ["http://backend.userland.com/rss2", "rss"],
  ["http://backend.userland.com/rss091", "rss"],
  ["http://blogs.law.harvard.edu/tech/rss", "rss"],
  ["http://www.rssboard.org/rss-specification", "rss"],
  ["http://purl.org/net/rss1.1#", "rss"],
  ["http://www.w3.org/2005/atom", "atom"],
  ["http://purl.org/atom/ns#", "atom"],
  ["http://example.com/newformat#", "atom"],
  ["http://example.com/necho", "atom"],
  ["http://purl.org/echo", "atom"],
  ["uri/of/echo/namespace#", "atom"],
  ["http://purl.org/pie", "atom"],
  ["http://www.w3.org/1999/02/22-rdf-syntax-ns#", "rdf"],
  ["http://purl.org/dc/elements/1.0", "dc"],
  ["http://purl.org/dc/elements/1.1", "dc"],
  ["http://purl.org/dc/terms", "dc"],
  ["http://purl.org/rss/1.0/modules/content", "content"],
  ["http://www.itunes.com/dtds/podcast-1.0.dtd", "itunes"],
  ["http://example.com/dtds/podcast-1.0.dtd", "itunes"],
]);

const PREFIXES: Readonly<Record<string, Vocabulary>> = {
  rss: "rss",
  atom: "atom",
  a: "atom",
  rdf: "rdf",
  dc: "dc",
  dcterms: "dc",
  content: "content",
  itunes: "itunes",
};

/**
 * Returns the vocabulary of a name, the namespace itself if it is unknown, or undefined for a name without namespace and
 * prefix.
 */
export function vocabularyOf(namespace: string | undefined, prefix: string): string | undefined {
  if (namespace === undefined || namespace === "")
    return prefix === "" ? undefined : (PREFIXES[prefix] ?? prefix);
  const normal = namespace.trim().toLowerCase().replace(/\/$/, "");
  return NAMESPACES.get(normal) ?? namespace;
}
