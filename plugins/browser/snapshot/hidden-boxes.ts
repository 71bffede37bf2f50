/**
 * Boxes that a page hides to draw its own (of no size, or without pointer events): the library shows them without a
 * ref, since nobody can click there, though their labels can be clicked. They get one of ours: the nearest element
 * around them that has a ref, with their role and name within it.
 */
import type { Locator, Page } from "../drivers/playwright.ts";
import type { AriaNode } from "./aria-node.ts";

const BOX = /^(checkbox|radio|switch)$/;
const OURS = /^(\S+) (checkbox|radio|switch) (.+)$/s;

/** Gives refs to the hidden boxes of a tree; where two could be meant, neither gets one. */
export function nameHiddenBoxes(roots: readonly (AriaNode | string)[]): void {
  const boxes = new Map<string, AriaNode[]>();
  for (const root of roots) collectBoxes(root, undefined, boxes);
  for (const [ref, [node, ...twins]] of boxes) if (twins.length === 0) node!.ref = ref;
}

/** Adds the hidden boxes of a tree by the ref that they may get. `within`: the nearest ref around the node. */
function collectBoxes(
  root: AriaNode | string,
  around: string | undefined,
  boxes: Map<string, AriaNode[]>,
): void {
  const stack = [{ node: root, within: around }];
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    const { node, within } = at;
    if (typeof node === "string") continue;
    if (within !== undefined && isHiddenBox(node)) {
      const ref = `${within} ${node.role} ${node.name}`;
      boxes.set(ref, [...(boxes.get(ref) ?? []), node]);
    }
    // What a frame holds is not within its element.
    const inside = node.role === "iframe" ? undefined : (node.ref ?? within);
    for (const child of node.children ?? []) stack.push({ node: child, within: inside });
  }
}

const isHiddenBox = ({ ref, name, role }: AriaNode): boolean =>
  ref === undefined && Boolean(name) && BOX.test(role);

/** The element of a ref: the library's own, or one of `nameHiddenBoxes`, which matches nothing in another document. */
export function locatorOf(page: Page, native: string): Locator {
  const [, within, role, name] = OURS.exec(native) ?? [];
  if (within === undefined) return page.getByRef(native);
  return page
    .getByRef(within)
    .getByRole(role as "checkbox" | "radio" | "switch", { name: name!, exact: true });
}
