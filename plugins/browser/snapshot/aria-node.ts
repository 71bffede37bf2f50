/** The library's description of a page: a tree of roles and names. */

/** A node of `ariaSnapshotJSON({mode: "ai"})`. */
export interface AriaNode {
  role: string;
  name?: string;
  ref?: string;
  text?: string;
  url?: string;
  placeholder?: string;
  level?: number;
  checked?: boolean | "mixed";
  pressed?: boolean | "mixed";
  disabled?: boolean;
  expanded?: boolean;
  selected?: boolean;
  active?: boolean;
  invalid?: boolean | string;
  cursor?: string;
  /** True if the node is behind an open modal dialog. */
  behind?: boolean;
  box?: { x: number; y: number; width: number; height: number };
  children?: (AriaNode | string)[];
}

/** Yields all nodes of a tree, depth first, without recursion (pages may nest deeply). */
export function* everyNode(roots: readonly (AriaNode | string)[]): Generator<AriaNode> {
  const stack = [...roots].reverse();
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (typeof node === "string") continue;
    yield node;
    for (let i = (node.children?.length ?? 0) - 1; i >= 0; i--) stack.push(node.children![i]!);
  }
}
