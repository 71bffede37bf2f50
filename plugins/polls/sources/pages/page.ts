/** A web page as a tree; the only importer of parse5. */
import type { Document } from "domhandler";
import { parse } from "parse5";
import { adapter, type Htmlparser2TreeAdapterMap } from "parse5-htmlparser2-tree-adapter";
import { CheckFailed } from "../source.ts";

/** As browsers have it. The work on a page grows with its size times its depth. */
const MAX_DEPTH = 512;
/** Some hundred times what a large page has: beyond, it was made to exhaust us. */
const MAX_NODES = 100_000;

/** Throws `CheckFailed` for what is too deep or has too many parts, and for what ends in the midst of one. */
export function parsePage(html: string): Document {
  if (isCutOff(html)) throw new CheckFailed("The page is cut off.");
  let depth = 0;
  let nodes = 0;
  const counted = (): void => {
    if (++nodes > MAX_NODES) throw new CheckFailed(`The page has more than ${MAX_NODES} elements.`);
  };
  return parse<Htmlparser2TreeAdapterMap>(html, {
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
      onItemPush() {
        if (++depth > MAX_DEPTH) throw new CheckFailed("The page is nested too deeply.");
      },
      onItemPop: () => void depth--,
    },
  });
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
