/** A web page as a tree; the only importer of parse5. */
import { type AnyNode, type Document, isText } from "domhandler";
import { Parser } from "parse5";
import { adapter, type Htmlparser2TreeAdapterMap } from "parse5-htmlparser2-tree-adapter";
import { TimeSlices } from "../../time-slices.ts";
import { CheckFailed } from "../source.ts";

/** As browsers have it. The work on a page grows with its size times its depth. */
const MAX_DEPTH = 512;
/** Some hundred times what a large page has: beyond, it was made to exhaust us. */
const MAX_NODES = 100_000;

/** Of one tag. */
const MAX_ATTRIBUTES = 1_000;
/** What is parsed between two looks at the clock. A page can make much work of few characters. */
const CHUNK_CHARS = 2 * 1024;

/**
 * Throws `CheckFailed` for what is too deep or has too many parts, which are counted before they are parsed, and for what
 * ends in the midst of one.
 */
export async function parsePage(html: string): Promise<Document> {
  checkTagCount(html);
  if (isCutOff(html)) throw new CheckFailed("The page is cut off.");
  const parser = createParser();
  const slices = new TimeSlices();
  for (let at = 0; at < html.length; at += CHUNK_CHARS) {
    if (slices.isOver) await slices.pause();
    parser.tokenizer.write(html.slice(at, at + CHUNK_CHARS), false);
    checkAttributeCount(parser);
  }
  parser.tokenizer.write("", true);
  return parser.document;
}

/** Of the tag that the parser is in the midst of. */
function checkAttributeCount({ tokenizer }: Parser<Htmlparser2TreeAdapterMap>): void {
  // The library's types hide it from all but subclasses, and give no other way to see an unfinished tag.
  const { currentToken } = tokenizer as unknown as {
    currentToken: { attrs?: readonly unknown[] } | null;
  };
  if ((currentToken?.attrs?.length ?? 0) > MAX_ATTRIBUTES)
    throw new CheckFailed(`The page has a tag with more than ${MAX_ATTRIBUTES} attributes.`);
}

function tooManyElements(): CheckFailed {
  return new CheckFailed(`The page has more than ${MAX_NODES} elements.`);
}

function checkTagCount(html: string): void {
  let tags = 0;
  for (let at = html.indexOf("<"); at !== -1; at = html.indexOf("<", at + 1)) {
    if (!isLetter(html.charCodeAt(at + 1))) continue;
    tags++;
    if (tags > MAX_NODES) throw tooManyElements();
  }
}

function isLetter(code: number): boolean {
  const lowerCase = code | 32;
  return lowerCase >= 97 && lowerCase <= 122;
}

/** What an element leaves open makes further ones, so that they are counted here as well. */
function createParser(): Parser<Htmlparser2TreeAdapterMap> {
  let depth = 0;
  let nodes = 0;
  const counted = (): void => {
    nodes++;
    if (nodes > MAX_NODES) throw tooManyElements();
  };
  return new Parser<Htmlparser2TreeAdapterMap>({
    treeAdapter: {
      ...adapter,
      createElement(...given) {
        counted();
        return adapter.createElement(...given);
      },
      createCommentNode(data) {
        counted();
        return adapter.createCommentNode(data);
      },
      insertText(parent, text) {
        if (isFull(parent.children.at(-1)))
          adapter.appendChild(parent, adapter.createTextNode(text));
        else adapter.insertText(parent, text);
      },
      insertTextBefore(parent, text, reference) {
        if (isFull(reference.prev))
          adapter.insertBefore(parent, adapter.createTextNode(text), reference);
        else adapter.insertTextBefore(parent, text, reference);
      },
      onItemPush() {
        if (++depth > MAX_DEPTH) throw new CheckFailed("The page is nested too deeply.");
      },
      onItemPop: () => void depth--,
    },
  });
}

/**
 * A long text becomes several nodes. The parser appends it character by character, which the engine keeps as a tree of
 * as many parts, thirty times as large as the text, until somebody reads it.
 */
const MAX_TEXT_CHARS = 8 * 1024;

function isFull(node: AnyNode | null | undefined): boolean {
  if (node == null || !isText(node) || node.data.length < MAX_TEXT_CHARS) return false;
  // Reading one character makes the engine put the parts together.
  void node.data.charCodeAt(0);
  return true;
}

const RAW = ["script", "style", "title", "textarea"];

/** True where it ends in the midst of a tag, a comment, or an element that holds nothing but text. */
function isCutOff(html: string): boolean {
  const text = html.toLowerCase();
  const opened = text.lastIndexOf("<");
  if (opened > text.lastIndexOf(">") && /^<[a-z/!?]/.test(text.slice(opened, opened + 2)))
    return true;
  if (text.lastIndexOf("<!--") > text.lastIndexOf("-->")) return true;
  return RAW.some((name) => {
    const begin = text.lastIndexOf(`<${name}`);
    return (
      begin > text.lastIndexOf(`</${name}`) && /^[\s>]/.test(text.slice(begin + name.length + 1))
    );
  });
}
