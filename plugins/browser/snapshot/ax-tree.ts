/** The browser's accessibility tree over plain DevTools, flattened in reading order. */
import { attempt } from "../deadline.ts";
import { sanitized } from "./text.ts";
import type { CdpSession } from "../drivers/cdp.ts";
import { INTERACTIVE } from "./roles.ts";

interface AxEntry {
  role: string;
  name: string;
  value?: string;
  depth: number;
}

interface AxValue {
  value?: unknown;
}

interface AxNode {
  nodeId: string;
  ignored?: boolean;
  role?: AxValue;
  name?: AxValue;
  value?: AxValue;
  childIds?: string[];
  parentId?: string;
  frameId?: string;
  backendDOMNodeId?: number;
}

/** A frame that is not busy tells its tree within this. */
const FRAME_MS = 5_000;

/** Nodes that only repeat the text of their parent, or say nothing. */
const SILENT = new Set(["none", "InlineTextBox", "LineBreak", "ListMarker"]);

const ROLES: Record<string, string> = {
  RootWebArea: "document",
  StaticText: "text",
  Iframe: "iframe",
  LabelText: "label",
};
const text = (value: AxValue | undefined): string =>
  value?.value === undefined || value.value === null ? "" : sanitized(String(value.value));

interface FrameTree {
  frame: { id: string };
  childFrames?: FrameTree[];
}

/**
 * Reads the tree of the page and of its frames; at most `limit` nodes. `frames`: sessions of those that live in processes
 * of their own; one that does not answer is left empty.
 */
export async function readAxTree(
  tab: CdpSession,
  frames: readonly CdpSession[],
  limit: number,
): Promise<{ nodes: AxEntry[]; interactive: number; truncated: boolean }> {
  const [own, ...others] = await Promise.all([
    processTrees(tab),
    ...frames.map((frame) => attempt(FRAME_MS, processTrees(frame), [])),
  ]);
  const out: AxEntry[] = [];
  let interactive = 0;
  let truncated = false;

  function walk(tree: AxNode[]): void {
    const byId = new Map(tree.map((node) => [node.nodeId, node]));
    const stack: { node: AxNode; depth: number }[] = [];
    const roots = tree.filter((node) => node.parentId === undefined || !byId.has(node.parentId));
    for (const root of roots.reverse()) stack.push({ node: root, depth: 0 });
    for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
      const { node, depth } = at;
      const raw = text(node.role);
      const role = ROLES[raw] ?? raw;
      const name = text(node.name);
      const value = text(node.value);
      const shown =
        !node.ignored && !SILENT.has(raw) && !(raw === "generic" && name === "" && value === "");
      if (shown) {
        if (out.length >= limit) {
          truncated = true;
          return;
        }
        out.push({ role, name, value: value || undefined, depth });
        if (INTERACTIVE.has(role)) interactive += 1;
      }
      const below = shown ? depth + 1 : depth;
      for (const id of [...(node.childIds ?? [])].reverse()) {
        const child = byId.get(id);
        if (child !== undefined) stack.push({ node: child, depth: below });
      }
    }
  }

  for (const tree of [own, ...others].flat()) walk(tree);
  return { nodes: out, interactive, truncated };
}

/** The trees of a page, or of a frame, and of the frames in it that live in its process. */
async function processTrees(tab: CdpSession): Promise<AxNode[][]> {
  const { nodes } = await tab.send<{ nodes: AxNode[] }>("Accessibility.getFullAXTree");
  const { frameTree } = await tab.send<{ frameTree: FrameTree }>("Page.getFrameTree");
  const ids: string[] = [];
  const collect = (tree: FrameTree): void => {
    for (const child of tree.childFrames ?? []) {
      ids.push(child.frame.id);
      collect(child);
    }
  };
  collect(frameTree);
  const trees = ids.map((frameId) =>
    tab.send<{ nodes: AxNode[] }>("Accessibility.getFullAXTree", { frameId }).then(
      ({ nodes }) => nodes,
      () => [],
    ),
  );
  return [nodes, ...(await Promise.all(trees))];
}
