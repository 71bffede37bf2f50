/** A web page as text. */
import { type AnyNode, type Element, isTag, isText, type ParentNode, type Text } from "domhandler";
import { TimeSlices } from "../../time-slices.ts";
import { decodeText } from "portico/strings";
import { endingOf } from "../ending.ts";
import { fetchSource } from "../fetch.ts";
import { hashOf } from "../http.ts";
import { changeLines } from "../lines.ts";
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
      `No element of the page matches the selector ${JSON.stringify(wanted.selector)}.`,
    );
  const parts: TextPart[] = picked.flatMap((node) => [...textParts(node, removed), LINE_BREAK]);
  const texts = await TimeSlices.map(piecesOf(parts), (part) =>
    typeof part === "string" ? part.split(/\s+/).join(" ") : "\n",
  );
  const lines = await changeLines(
    texts.join(""),
    (line) => withoutDoubleSpaces(line).trim() || undefined,
  );
  return withoutIgnored(lines, wanted.ignore);
}

/** Where two texts meet. Most lines have none, and looking for them is much quicker than replacing them. */
function withoutDoubleSpaces(line: string): string {
  return line.includes("  ") ? line.replace(/ {2,}/g, " ") : line;
}

/** Without elements inside other elements of the list, whose text contains theirs. */
function outermost(elements: readonly Element[]): Element[] {
  const all = new Set<AnyNode>(elements);
  return elements.filter((element) => {
    for (let up: ParentNode | null = element.parent; up !== null; up = up.parent)
      if (all.has(up)) return false;
    return true;
  });
}

/** A text of the page, or what its elements make of the space around them. */
type TextPart = Text | " " | typeof LINE_BREAK;
const LINE_BREAK: unique symbol = Symbol("line break");
/** Longer texts are taken in pieces, since their white space is replaced piece by piece. */
const PIECE_CHARS = 16 * 1024;

/** Reads each text only when its turn comes: its first reading takes time in proportion to its length. */
function* piecesOf(parts: readonly TextPart[]): Generator<string | typeof LINE_BREAK> {
  for (const part of parts) {
    if (typeof part !== "object") yield part;
    else
      for (let at = 0; at < part.data.length; at += PIECE_CHARS)
        yield part.data.slice(at, at + PIECE_CHARS);
  }
}

function textParts(root: ParentNode, removed: ReadonlySet<Element>): TextPart[] {
  const parts: TextPart[] = [];
  const visit = (parent: ParentNode): void => {
    for (const node of parent.children) {
      if (isText(node)) parts.push(node);
      else if (isTag(node) && !SILENT.has(node.name) && !removed.has(node)) visitElement(node);
    }
  };
  const visitElement = (element: Element): void => {
    const isBlock = !INLINE.has(element.name);
    if (isBlock) parts.push(LINE_BREAK);
    if (element.name === "td" || element.name === "th") parts.push(" ");
    visit(element);
    if (isBlock) parts.push(LINE_BREAK);
  };
  visit(root);
  return parts;
}
