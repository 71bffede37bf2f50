/** Wide, deep and long texts of a given size, in the formats that the entry points read. */

export type Shape = (size: number) => string;

/** Repeats `unit` between a prefix and a suffix. */
const filled =
  (before: string, unit: string, after: string): Shape =>
  (size) =>
    before + unit.repeat(Math.max(1, Math.floor(size / unit.length))) + after;

/** Like `filled`, but with a number in each unit. */
const numbered =
  (before: string, unit: (i: number) => string, after: string): Shape =>
  (size) => {
    const units: string[] = [];
    let length = 0;
    for (let i = 0; length < size; i++) {
      const text = unit(i);
      units.push(text);
      length += text.length;
    }
    return before + units.join("") + after;
  };

const nested =
  (open: string, close: string): Shape =>
  (size) => {
    const depth = Math.floor(size / (open.length + close.length));
    return open.repeat(depth) + close.repeat(depth);
  };

/** JSON values. */
export const jsonValues: Readonly<Record<string, Shape>> = {
  "nested lists": filled("[", "[[[[]]]],", "1]"),
  lists: filled("[", "[],", "1]"),
  objects: filled("[", "{},", "1]"),
  numbers: filled("[", "1,", "1]"),
  fractions: filled("[", "1.5,", "1]"),
  texts: filled("[", '"a",', '"b"]'),
  members: numbered("{", (i) => `"k${i}":1,`, '"z":1}'),
  "one member again": filled("{", '"a":1,', '"b":1}'),
  __proto__: filled("[", '{"__proto__":1},', "1]"),
  "deep lists": nested("[", "]"),
  "deep objects": (size) => `${'{"a":'.repeat(size / 6)}1${"}".repeat(size / 6)}`,
  "a long text": filled('"', "a", '"'),
  escapes: filled('"', "\\u0041", '"'),
  quotes: filled('"', '\\"', '"'),
  "white space": filled("[", " ", "1]"),
  "digits of one number": filled("[", "1", "]"),
};

export const urlEncoded: Readonly<Record<string, Shape>> = {
  fields: numbered("", (i) => `k${i}=1&`, "z=1"),
  "one field again": filled("", "a=1&", "a=1"),
  separators: filled("", "&", ""),
  escapes: filled("a=", "%41", ""),
  "a payload": (size) => `payload=${filled("[", "[],", "1]")(size)}`,
};

export const BOUNDARY = "b";
const PART = '--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n1\r\n';
export const multipart: Readonly<Record<string, Shape>> = {
  parts: filled("", PART, "--b--\r\n"),
  "the head of a part": filled(
    "--b\r\nContent-Disposition: form-data; ",
    'a="b"; ',
    "\r\n\r\n1\r\n--b--\r\n",
  ),
  delimiters: filled("", "--b\r\n", "--b--\r\n"),
};

export const xml: Readonly<Record<string, Shape>> = {
  elements: filled("<r>", "<a/>", "</r>"),
  names: numbered("<r>", (i) => `<k${i}/>`, "</r>"),
  attributes: numbered("<r ", (i) => `k${i}="1" `, "/>"),
  entities: filled("<r>", "&amp;", "</r>"),
  deep: nested("<a>", "</a>"),
};

export const feeds: Readonly<Record<string, Shape>> = {
  "RSS items": numbered(
    "<rss><channel>",
    (i) => `<item><guid>${i}</guid><title>b</title></item>`,
    "</channel></rss>",
  ),
  "dated RSS items": numbered(
    "<rss><channel>",
    (i) =>
      `<item><link>/n/${i}</link><pubDate>Sat, 02 May 2026 10:00:${10 + (i % 50)} GMT</pubDate></item>`,
    "</channel></rss>",
  ),
  "Atom entries": numbered("<feed>", (i) => `<entry><id>${i}</id></entry>`, "</feed>"),
  elements: filled("<rss><channel><item>", "<a/>", "</item></channel></rss>"),
  attributes: numbered("<rss><channel ", (i) => `k${i}="1" `, "></channel></rss>"),
  entities: filled("<rss><channel><item><title>", "&eacute;", "</title></item></channel></rss>"),
  deep: nested("<a>", "</a>"),
  "JSON Feed": numbered('{"items":[', (i) => `{"id":"${i}"},`, "{}]}"),
};

export const pages: Readonly<Record<string, Shape>> = {
  "unclosed tags": filled("", "<div>", ""),
  "unclosed tables": filled("", "<table><b><a>", ""),
  paragraphs: filled("", "<p>a</p>", ""),
  "unclosed formatting": (size) => `<svg>${"<b>".repeat(3000)}${"</b><p>".repeat(size / 7)}`,
  lines: filled("<p>", "a<br>", "</p>"),
  text: filled("<p>", "a ", "</p>"),
  entities: filled("<p>", "&amp;", "</p>"),
  attributes: numbered("<p ", (i) => `k${i}=1 `, ">x</p>"),
};

export const documents: Readonly<Record<string, Shape>> = {
  "nested lists": filled('{"items":[', "[[[[]]]],", "1]}"),
  objects: filled('{"items":[', '{"id":1},', '{"id":2}]}'),
  ids: numbered('{"items":[', (i) => `{"id":"${i}-x"},`, '{"id":"z"}]}'),
  numbers: filled('{"items":[', "1,", "1]}"),
  members: numbered('{"items":[{', (i) => `"k${i}":1,`, '"id":1}]}'),
  lines: filled("", "a\n", "b"),
  "lines in JSON": filled("", "{}\n", "{}"),
};
