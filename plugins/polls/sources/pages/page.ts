/** Parses a web page into a tree. This is the only importer of parse5. */
import { type AnyNode, type Document, isText } from "domhandler";
import { Parser } from "parse5";
import { adapter, type Htmlparser2TreeAdapterMap } from "parse5-htmlparser2-tree-adapter";
import { TimeSlices } from "../../time-slices.ts";
import { CheckFailed } from "../source.ts";

/** The limit that browsers use. The work on a page grows with its size times its depth. */
const MAX_DEPTH = 512;
/** Far more than a large page has. A page with more nodes is meant to exhaust the gateway. */
const MAX_NODES = 100_000;

/** The largest number of attributes of one tag. */
const MAX_ATTRIBUTES = 1_000;
/**
 * The number of characters that are parsed between two readings of the clock. It is small, because few characters can
 * cause much work.
 */
const CHUNK_CHARS = 2 * 1024;

/**
 * Throws `CheckFailed` for a page that is too deep or has too many tags or attributes, and for one that is cut off. Tags are
 * counted before they are parsed.
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

/** Checks the tag that the parser has not finished yet. */
function checkAttributeCount({ tokenizer }: Parser<Htmlparser2TreeAdapterMap>): void {
  // The property is protected, but the library offers no other access to an unfinished tag.
  const { currentToken } = tokenizer as unknown as {
    currentToken: { attrs?: readonly unknown[] } | null;
  };
  if ((currentToken?.attrs?.length ?? 0) > MAX_ATTRIBUTES)
    throw new CheckFailed(`The page has a tag with more than ${MAX_ATTRIBUTES} attributes.`);
}

function createTooManyElementsError(): CheckFailed {
  return new CheckFailed(`The page has more than ${MAX_NODES} elements.`);
}

function checkTagCount(html: string): void {
  let tags = 0;
  for (let at = html.indexOf("<"); at !== -1; at = html.indexOf("<", at + 1)) {
    if (!isLetter(html.charCodeAt(at + 1))) continue;
    tags++;
    if (tags > MAX_NODES) throw createTooManyElementsError();
  }
}

function isLetter(code: number): boolean {
  const lowerCase = code | 32;
  return lowerCase >= 97 && lowerCase <= 122;
}

/**
 * Creates a parser that counts nodes, because unclosed elements can make the parser create more elements than there are
 * tags.
 */
function createParser(): Parser<Htmlparser2TreeAdapterMap> {
  let depth = 0;
  let nodes = 0;
  const countNode = (): void => {
    nodes++;
    if (nodes > MAX_NODES) throw createTooManyElementsError();
  };
  return new Parser<Htmlparser2TreeAdapterMap>({
    treeAdapter: {
      ...adapter,
      createElement(...args) {
        countNode();
        return adapter.createElement(...args);
      },
      createCommentNode(data) {
        countNode();
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
 * Longer texts become several nodes. The parser appends texts character by character, and the engine stores the result as a
 * tree of as many parts, thirty times as large as the text, until the text is first read.
 */
const MAX_TEXT_CHARS = 8 * 1024;

function isFull(node: AnyNode | null | undefined): boolean {
  if (node == null || !isText(node) || node.data.length < MAX_TEXT_CHARS) return false;
  // Reading one character makes the engine flatten the tree.
  void node.data.charCodeAt(0);
  return true;
}

const RAW_TEXT_ELEMENTS = ["script", "style", "title", "textarea"];

/** Returns whether the page ends within a tag, a comment, or a raw text element. */
function isCutOff(html: string): boolean {
  const text = html.toLowerCase();
  const lastOpening = text.lastIndexOf("<");
  if (
    lastOpening > text.lastIndexOf(">") &&
    /^<[a-z/!?]/.test(text.slice(lastOpening, lastOpening + 2))
  )
    return true;
  if (text.lastIndexOf("<!--") > text.lastIndexOf("-->")) return true;
  return RAW_TEXT_ELEMENTS.some((name) => {
    const begin = text.lastIndexOf(`<${name}`);
    return (
      begin > text.lastIndexOf(`</${name}`) && /^[\s>]/.test(text.slice(begin + name.length + 1))
    );
  });
}
