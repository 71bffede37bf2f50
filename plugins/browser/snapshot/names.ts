/** Computes accessible names that the library leaves to an element's children. */
import type { AriaNode } from "./aria-node.ts";

/** Roles that WAI-ARIA names from their content, limited to those that users operate or read as a unit. */
const NAMED_FROM_CONTENT = new Set(
  (
    "button cell checkbox columnheader gridcell heading link menuitem menuitemcheckbox menuitemradio option radio row " +
    "rowheader switch tab tooltip treeitem"
  ).split(" "),
);
const MAX_CHARACTERS = 300;
/** The maximum number of nodes to visit per name, since nameless elements may be nested. */
const MAX_NODES = 200;

/** Returns the element's own name, else the text of its content, else "". */
export function nameOf(node: AriaNode): string {
  if (node.name) return node.name;
  return NAMED_FROM_CONTENT.has(node.role) ? contentOf(node) : "";
}

/** Returns the text of an element and its descendants in one line. */
export function contentOf(node: AriaNode): string {
  let name = "";
  for (const text of textsIn(node)) {
    name += name === "" ? text : ` ${text}`;
    if (name.length >= MAX_CHARACTERS) break;
  }
  const line = name.replace(/\s+/g, " ").trim();
  return line.length > MAX_CHARACTERS ? `${line.slice(0, MAX_CHARACTERS)}…` : line;
}

/** Yields the non-empty texts of a node and its descendants, in order. */
function* textsIn(node: AriaNode): Generator<string> {
  const stack: (AriaNode | string)[] = [node];
  for (let budget = MAX_NODES; budget > 0; budget -= 1) {
    const current = stack.pop();
    if (current === undefined) return;
    const text = ownText(current);
    if (text !== "") yield text;
    stack.push(...childrenOf(current).toReversed());
  }
}

const ownText = (node: AriaNode | string): string =>
  typeof node === "string" ? node : node.name || node.text || "";

/**
 * Returns the children that contribute to the name: none for a named node, whose name replaces them, or for a frame,
 * which is another document.
 */
function childrenOf(node: AriaNode | string): readonly (AriaNode | string)[] {
  if (typeof node === "string" || node.name || node.role === "iframe") return [];
  return node.children ?? [];
}
