/** Converts a page for a model: headings, lists and links in Markdown, without content that a reader does not see. */
import { Parser } from "htmlparser2";
import { parseUrl } from "portico/strings";

const INVISIBLE_ELEMENTS = new Set(
  "script style noscript template svg iframe object head canvas select".split(" "),
);
const BLOCK_ELEMENTS = new Set(
  "address article aside blockquote br dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section table tr ul".split(
    " ",
  ),
);

export interface PageText {
  title: string;
  text: string;
}

/** Accepts malformed HTML, in time linear in the length of the page. `base` makes links absolute. */
export function extractPageText(html: string, base: string): PageText {
  const collector = new TextCollector(base);
  const parser = new Parser(
    {
      onopentag: (name, attributes) => collector.open(name, attributes),
      ontext: (text) => collector.add(text),
      onclosetag: (name) => collector.close(name),
    },
    { decodeEntities: true },
  );
  parser.end(html);
  return collector.page();
}

/** Collects a page's text from its tags and texts, in order. */
class TextCollector {
  readonly #base: string;
  readonly #parts: string[] = [];
  #title = "";
  #isTitle = false;
  /** The number of open elements whose content is invisible. */
  #invisibleDepth = 0;
  /** The open link: its address, and the index of its first part. */
  #link: { href: string; start: number } | undefined;

  constructor(base: string) {
    this.#base = base;
  }

  open(name: string, attributes: Record<string, string>): void {
    if (name === "title") this.#isTitle = this.#title === "";
    if (INVISIBLE_ELEMENTS.has(name)) this.#invisibleDepth++;
    if (this.#invisibleDepth > 0) return;
    const parts = this.#parts;
    if (BLOCK_ELEMENTS.has(name)) parts.push("\n");
    if (/^h[1-6]$/.test(name)) parts.push(`${"#".repeat(Number(name[1]))} `);
    if (name === "li") parts.push("- ");
    if (name === "td" || name === "th") parts.push(" ");
    if (name === "img" && attributes["alt"]) parts.push(attributes["alt"]);
    const { href } = attributes;
    if (name === "a") this.#link = href === undefined ? undefined : { href, start: parts.length };
  }

  add(text: string): void {
    if (this.#isTitle) this.#title += text;
    else if (this.#invisibleDepth === 0) this.#parts.push(text.replace(/\s+/g, " "));
  }

  close(name: string): void {
    if (name === "title") this.#isTitle = false;
    if (INVISIBLE_ELEMENTS.has(name)) {
      this.#invisibleDepth = Math.max(0, this.#invisibleDepth - 1);
      return;
    }
    if (this.#invisibleDepth > 0) return;
    if (name === "a") this.#closeLink();
    else if (BLOCK_ELEMENTS.has(name)) this.#parts.push("\n");
  }

  /** Appends the address to the text of the link. */
  #closeLink(): void {
    const link = this.#link;
    this.#link = undefined;
    if (link === undefined) return;
    const target = toAbsoluteUrl(link.href, this.#base);
    const hasText = this.#parts.slice(link.start).join("").trim() !== "";
    if (target !== undefined && hasText) this.#parts.push(` (${target})`);
  }

  page(): PageText {
    const lines = this.#parts
      .join("")
      .split("\n")
      .map((line) => line.replace(/[ \t\r\f\v]+/g, " ").trim());
    return {
      title: this.#title.replace(/\s+/g, " ").trim(),
      text: lines.filter((line) => line !== "").join("\n"),
    };
  }
}

function toAbsoluteUrl(href: string, base: string): string | undefined {
  const url = href.length > 2_000 ? undefined : parseUrl(href, base);
  return url?.protocol === "http:" || url?.protocol === "https:" ? url.href : undefined;
}
