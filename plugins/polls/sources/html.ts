/** A web page as text; the only importer of parse5. */
import { parse } from "parse5";
import { decodeText } from "./decode.ts";
import { fetchSource } from "./fetch.ts";
import { hashOf } from "./http.ts";
import { withoutIgnored } from "./ignore.ts";
import { compileSelector, type Element, isElement, type Parent } from "./select.ts";
import { type Answered, type Asked, CheckFailed } from "./source.ts";

export function readHtml(asked: Asked): Promise<Answered> {
  return fetchSource(asked, ({ body, contentType }) => {
    const text = pageText(decodeText(body, contentType), asked.source);
    return { kind: "text", text, hash: hashOf(text) };
  });
}

const SILENT = new Set(["script", "style", "noscript", "template", "head", "svg", "iframe"]);
const INLINE = new Set(
  "a abbr b bdi bdo cite code data em font i img kbd label mark q s samp small span strong sub sup time u var wbr".split(
    " ",
  ),
);

/** What a reader sees of the page, or of what the selector picks, line by line; white space and ignored lines do not count. */
export function pageText(
  html: string,
  wanted: { selector?: string; ignore?: readonly string[]; remove?: readonly string[] },
): string {
  const document = parse(html);
  const removed = new Set((wanted.remove ?? []).flatMap((selector) => compileSelector(selector)(document)));
  const picked = wanted.selector === undefined ? [document] : outermost(compileSelector(wanted.selector)(document));
  if (picked.length === 0)
    throw new CheckFailed(`The page has nothing that the selector ${JSON.stringify(wanted.selector)} picks.`);
  const text = picked.map((node) => textIn(node, removed)).join("\n");
  const lines = text.split("\n").map((line) => line.replace(/\s+/g, " ").trim());
  return withoutIgnored(lines.filter((line) => line !== "").join("\n"), wanted.ignore);
}

/** Without elements that lie in others of the list: their text is there already. */
function outermost(elements: readonly Element[]): Element[] {
  const all = new Set<unknown>(elements);
  return elements.filter((element) => {
    for (let up: unknown = element.parentNode; isElement(up); up = up.parentNode) if (all.has(up)) return false;
    return true;
  });
}

function textIn(root: Parent, removed: ReadonlySet<Element>): string {
  const parts: string[] = [];
  const visit = (parent: Parent): void => {
    for (const node of parent.childNodes) {
      if (node.nodeName === "#text" && "value" in node) parts.push(node.value.replace(/\s+/g, " "));
      else if (isElement(node) && !SILENT.has(node.tagName) && !removed.has(node)) {
        const block = !INLINE.has(node.tagName);
        if (block) parts.push("\n");
        if (node.tagName === "td" || node.tagName === "th") parts.push(" ");
        visit(node);
        if (block) parts.push("\n");
      }
    }
  };
  visit(root);
  return parts.join("");
}
