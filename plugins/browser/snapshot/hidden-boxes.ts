/**
 * Gives refs to boxes that a page hides to draw its own (without size or pointer events). The library lists them
 * without a ref, because they cannot be clicked, although their labels can. Our ref consists of the nearest enclosing
 * element that has a ref, and the box's role and name within it.
 */
import type { Locator, Page } from "../drivers/playwright.ts";
import type { AriaNode } from "./aria-node.ts";

const BOX_ROLE = /^(checkbox|radio|switch)$/;
const OWN_REF = /^(\S+) (checkbox|radio|switch) (.+)$/s;

/** Gives refs to the hidden boxes of a tree. If a ref would be ambiguous, neither box gets one. */
export function nameHiddenBoxes(roots: readonly (AriaNode | string)[]): void {
  const boxes = new Map<string, AriaNode[]>();
  for (const root of roots) collectBoxes(root, undefined, boxes);
  for (const [ref, [node, ...twins]] of boxes) if (twins.length === 0) node!.ref = ref;
}

/** Collects the hidden boxes of a tree by the ref that they may get. `outerRef` is the nearest ref around the root. */
function collectBoxes(
  root: AriaNode | string,
  outerRef: string | undefined,
  boxes: Map<string, AriaNode[]>,
): void {
  const stack = [{ node: root, enclosingRef: outerRef }];
  for (let item = stack.pop(); item !== undefined; item = stack.pop()) {
    const { node, enclosingRef } = item;
    if (typeof node === "string") continue;
    if (enclosingRef !== undefined && isHiddenBox(node)) {
      const ref = `${enclosingRef} ${node.role} ${node.name}`;
      boxes.set(ref, [...(boxes.get(ref) ?? []), node]);
    }
    // The content of a frame is not within the frame's element.
    const innerRef = node.role === "iframe" ? undefined : (node.ref ?? enclosingRef);
    for (const child of node.children ?? []) stack.push({ node: child, enclosingRef: innerRef });
  }
}

const isHiddenBox = ({ ref, name, role }: AriaNode): boolean =>
  ref === undefined && Boolean(name) && BOX_ROLE.test(role);

/**
 * Returns the locator of a ref: the library's own, or one of `nameHiddenBoxes`, which matches nothing in another
 * document.
 */
export function locatorOf(page: Page, native: string): Locator {
  const [, enclosingRef, role, name] = OWN_REF.exec(native) ?? [];
  if (enclosingRef === undefined) return page.getByRef(native);
  return page
    .getByRef(enclosingRef)
    .getByRole(role as "checkbox" | "radio" | "switch", { name: name!, exact: true });
}
