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
  let left = MOST_NODES;
  const stack: (AriaNode | string)[] = [node];
  for (
    let at = stack.pop();
    at !== undefined && left > 0 && name.length < MOST_CHARACTERS;
    at = stack.pop()
  ) {
    left -= 1;
    const own = typeof at === "string" ? at : at.name || at.text || "";
    if (own !== "") name += `${name === "" ? "" : " "}${own}`;
    // What has a name of its own is called by it; a frame is another document.
    if (typeof at === "string" || at.name || at.role === "iframe") continue;
    for (const child of [...(at.children ?? [])].reverse()) stack.push(child);
  }
  const plain = name.replace(/\s+/g, " ").trim();
  return plain.length > MOST_CHARACTERS ? `${plain.slice(0, MOST_CHARACTERS)}…` : plain;
}
