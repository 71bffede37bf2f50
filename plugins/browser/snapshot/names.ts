/** Accessible names that the library leaves to an element's children. */
import type { AriaNode } from "./aria-node.ts";

/** Roles whose name comes from what they hold, as WAI-ARIA has it, of those that somebody acts on or reads as one. */
const NAMED_FROM_CONTENT = new Set(
  (
    "button cell checkbox columnheader gridcell heading link menuitem menuitemcheckbox menuitemradio option radio row " +
    "rowheader switch tab tooltip treeitem"
  ).split(" "),
);
const MOST_CHARACTERS = 300;
/** Nameless elements may lie in one another: each looks at so many nodes at most. */
const MOST_NODES = 200;

/** The element's own name, else what its children spell. "" where there is neither. */
export function nameOf(node: AriaNode): string {
  if (node.name) return node.name;
  return NAMED_FROM_CONTENT.has(node.role) ? contentOf(node) : "";
}

/** What the element and those below it say, in one line. */
export function contentOf(node: AriaNode): string {
  let name = "";
  for (const own of textsIn(node)) {
    name += name === "" ? own : ` ${own}`;
    if (name.length >= MOST_CHARACTERS) break;
  }
  const plain = name.replace(/\s+/g, " ").trim();
  return plain.length > MOST_CHARACTERS ? `${plain.slice(0, MOST_CHARACTERS)}…` : plain;
}

/** The texts of a node and of those below it, in order; empty ones are left out. */
function* textsIn(node: AriaNode): Generator<string> {
  const stack: (AriaNode | string)[] = [node];
  for (let budget = MOST_NODES; budget > 0; budget -= 1) {
    const at = stack.pop();
    if (at === undefined) return;
    const own = ownText(at);
    if (own !== "") yield own;
    stack.push(...childrenOf(at).toReversed());
  }
}

const ownText = (node: AriaNode | string): string =>
  typeof node === "string" ? node : node.name || node.text || "";

/** What has a name of its own is called by it; a frame is another document. */
function childrenOf(node: AriaNode | string): readonly (AriaNode | string)[] {
  if (typeof node === "string" || node.name || node.role === "iframe") return [];
  return node.children ?? [];
}
