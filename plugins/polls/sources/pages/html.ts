/** Reads a web page as text. */
import { type AnyNode, type Element, isTag, isText, type ParentNode, type Text } from "domhandler";
import { TimeSlices } from "../../time-slices.ts";
import { decodeText } from "portico/strings";
import { detectEnding } from "../ending.ts";
import { fetchSource } from "../fetch.ts";
import { hashOf } from "../http.ts";
import { changeLines } from "../lines.ts";
import { removeIgnoredLines } from "./ignore.ts";
import { parsePage } from "./page.ts";
import { compileSelector } from "./select.ts";
import { type ReadResult, type ReadRequest, CheckFailed } from "../source.ts";

export function readHtml(request: ReadRequest): Promise<ReadResult> {
  return fetchSource(request, async ({ body, contentType, isFramed }) => {
    const html = decodeText(body, contentType);
    const text = await extractPageText(html, request.source);
    const ending = await detectEnding(html);
    return {
      kind: "text",
      text,
      hash: hashOf(text),
      ending: ending && { ...ending, isDeclared: !isFramed },
    };
  });
}

const INVISIBLE_ELEMENTS = new Set([
  "script",
  "style",
  "noscript",
  "template",
  "head",
  "svg",
  "iframe",
]);
const INLINE_ELEMENTS = new Set(
  "a abbr b bdi bdo cite code data em font i img kbd label mark q s samp small span strong sub sup time u var wbr".split(
    " ",
  ),
);

/**
 * Returns the visible text of the page or of the selected elements, line by line, with normalised white space and
 * without ignored lines.
 */
export async function extractPageText(
  html: string,
  options: { selector?: string; ignore?: readonly string[]; remove?: readonly string[] },
): Promise<string> {
  const page = await parsePage(html);
  const removedElements = new Set(
    (options.remove ?? []).flatMap((selector) => compileSelector(selector)(page)),
  );
  const roots =
    options.selector === undefined
      ? [page]
      : keepOutermost(compileSelector(options.selector)(page));
  if (roots.length === 0)
    throw new CheckFailed(
      `No element of the page matches the selector ${JSON.stringify(options.selector)}.`,
    );
  const parts: TextPart[] = roots.flatMap((node) => [
    ...collectTextParts(node, removedElements),
    LINE_BREAK,
  ]);
  const texts = await TimeSlices.map(piecesOf(parts), (part) =>
    typeof part === "string" ? part.split(/\s+/).join(" ") : "\n",
  );
  const lines = await changeLines(
    texts.join(""),
    (line) => collapseSpaces(line).trim() || undefined,
  );
  return removeIgnoredLines(lines, options.ignore);
}

/** Double spaces arise where two texts meet. Most lines have none, and `includes` is much faster than `replace`. */
function collapseSpaces(line: string): string {
  return line.includes("  ") ? line.replace(/ {2,}/g, " ") : line;
}

/** Removes elements inside other elements of the list, whose text contains theirs. */
function keepOutermost(elements: readonly Element[]): Element[] {
  const all = new Set<AnyNode>(elements);
  return elements.filter((element) => {
    for (
      let ancestor: ParentNode | null = element.parent;
      ancestor !== null;
      ancestor = ancestor.parent
    )
      if (all.has(ancestor)) return false;
    return true;
  });
}

/** A text of the page, or the white space that an element implies. */
type TextPart = Text | " " | typeof LINE_BREAK;
const LINE_BREAK: unique symbol = Symbol("line break");
/** The size of the pieces in which the white space of long texts is replaced. */
const PIECE_CHARS = 16 * 1024;

/** Reads each text lazily, because the first access to a text takes time in proportion to its length. */
function* piecesOf(parts: readonly TextPart[]): Generator<string | typeof LINE_BREAK> {
  for (const part of parts) {
    if (typeof part !== "object") yield part;
    else
      for (let at = 0; at < part.data.length; at += PIECE_CHARS)
        yield part.data.slice(at, at + PIECE_CHARS);
  }
}

function collectTextParts(root: ParentNode, removed: ReadonlySet<Element>): TextPart[] {
  const parts: TextPart[] = [];
  const visit = (parent: ParentNode): void => {
    for (const node of parent.children) {
      if (isText(node)) parts.push(node);
      else if (isTag(node) && !INVISIBLE_ELEMENTS.has(node.name) && !removed.has(node))
        visitElement(node);
    }
  };
  const visitElement = (element: Element): void => {
    const isBlock = !INLINE_ELEMENTS.has(element.name);
    if (isBlock) parts.push(LINE_BREAK);
    if (element.name === "td" || element.name === "th") parts.push(" ");
    visit(element);
    if (isBlock) parts.push(LINE_BREAK);
  };
  visit(root);
  return parts;
}
