/** A web page as text. */
import { type AnyNode, type Element, isTag, isText, type ParentNode } from "domhandler";
import { decodeText } from "portico/strings";
import { endingOf } from "../ending.ts";
import { fetchSource } from "../fetch.ts";
import { hashOf } from "../http.ts";
import { withoutIgnored } from "./ignore.ts";
import { parsePage } from "./page.ts";
import { compileSelector } from "./select.ts";
import { type ReadResult, type ReadRequest, CheckFailed } from "../source.ts";

export function readHtml(request: ReadRequest): Promise<ReadResult> {
  return fetchSource(request, async ({ body, contentType, isFramed }) => {
    const html = decodeText(body, contentType);
    const text = await pageText(html, request.source);
    const ending = await endingOf(html);
    return {
      kind: "text",
      text,
      hash: hashOf(text),
      ending: ending && { ...ending, isSaid: !isFramed },
    };
  });
}

const SILENT = new Set(["script", "style", "noscript", "template", "head", "svg", "iframe"]);
const INLINE = new Set(
  "a abbr b bdi bdo cite code data em font i img kbd label mark q s samp small span strong sub sup time u var wbr".split(
    " ",
  ),
);

/** What a reader sees of the page, or of what the selector picks, line by line; white space and ignored lines do not count. */
export async function pageText(
  html: string,
  wanted: { selector?: string; ignore?: readonly string[]; remove?: readonly string[] },
): Promise<string> {
  const page = await parsePage(html);
  const removed = new Set(
    (wanted.remove ?? []).flatMap((selector) => compileSelector(selector)(page)),
  );
  const picked =
    wanted.selector === undefined ? [page] : outermost(compileSelector(wanted.selector)(page));
  if (picked.length === 0)
    throw new CheckFailed(
      `The page has nothing that the selector ${JSON.stringify(wanted.selector)} picks.`,
    );
  const text = picked.map((node) => textIn(node, removed)).join("\n");
  const lines = text.split("\n").map((line) => line.replace(/\s+/g, " ").trim());
  return withoutIgnored(lines.filter((line) => line !== "").join("\n"), wanted.ignore);
}

/** Without elements that lie in others of the list: their text is there already. */
function outermost(elements: readonly Element[]): Element[] {
  const all = new Set<AnyNode>(elements);
  return elements.filter((element) => {
    for (let up: ParentNode | null = element.parent; up !== null; up = up.parent)
      if (all.has(up)) return false;
    return true;
  });
}

function textIn(root: ParentNode, removed: ReadonlySet<Element>): string {
  const parts: string[] = [];
  const visit = (parent: ParentNode): void => {
    for (const node of parent.children) {
      if (isText(node)) parts.push(node.data.replace(/\s+/g, " "));
      else if (isTag(node) && !SILENT.has(node.name) && !removed.has(node)) {
        const isBlock = !INLINE.has(node.name);
        if (isBlock) parts.push("\n");
        if (node.name === "td" || node.name === "th") parts.push(" ");
        visit(node);
        if (isBlock) parts.push("\n");
      }
    }
  };
  visit(root);
  return parts.join("");
}
