/** A page as a model reads it: headings, lists and links in Markdown, nothing of what a reader does not see. */
import { Parser } from "htmlparser2";
import { parseUrl } from "portico/strings";

const SILENT = new Set(
  "script style noscript template svg iframe object head canvas select".split(" "),
);
const BREAKS = new Set(
  "address article aside blockquote br dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section table tr ul".split(
    " ",
  ),
);

export interface PageText {
  title: string;
  text: string;
}

/** Forgiving, in one pass: the time grows with the length of the page. `base` makes links absolute. */
export function pageText(html: string, base: string): PageText {
  const parts: string[] = [];
  let title = "";
  let isTitle = false;
  let silent = 0;
  let href: string | undefined;
  let linked = 0;
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        if (name === "title") isTitle = title === "";
        if (SILENT.has(name)) silent++;
        if (silent > 0) return;
        if (BREAKS.has(name)) parts.push("\n");
        if (/^h[1-6]$/.test(name)) parts.push(`${"#".repeat(Number(name[1]))} `);
        if (name === "li") parts.push("- ");
        if (name === "td" || name === "th") parts.push(" ");
        if (name === "img" && attributes["alt"]) parts.push(attributes["alt"]);
        if (name === "a") {
          href = attributes["href"];
          linked = parts.length;
        }
      },
      ontext(text) {
        if (isTitle) title += text;
        else if (silent === 0) parts.push(text.replace(/\s+/g, " "));
      },
      onclosetag(name) {
        if (name === "title") isTitle = false;
        if (SILENT.has(name)) silent = Math.max(0, silent - 1);
        else if (silent === 0 && name === "a" && href !== undefined) {
          const target = absolute(href, base);
          const said = parts.slice(linked).join("");
          if (target !== undefined && said.trim() !== "") parts.push(` (${target})`);
          href = undefined;
        } else if (silent === 0 && BREAKS.has(name)) parts.push("\n");
      },
    },
    { decodeEntities: true },
  );
  parser.end(html);
  const lines = parts
    .join("")
    .split("\n")
    .map((line) => line.replace(/[ \t\r\f\v]+/g, " ").trim());
  return {
    title: title.replace(/\s+/g, " ").trim(),
    text: lines.filter((line) => line !== "").join("\n"),
  };
}

function absolute(href: string, base: string): string | undefined {
  const url = href.length > 2_000 ? undefined : parseUrl(href, base);
  return url?.protocol === "http:" || url?.protocol === "https:" ? url.href : undefined;
}
