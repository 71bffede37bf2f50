/** Reads the browser's accessibility tree over plain DevTools, flattened in reading order. */
import { attempt } from "../deadline.ts";
import { sanitizeText } from "./text.ts";
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

/** The time in ms within which an idle frame returns its tree. */
const FRAME_MS = 5_000;

/** Roles of nodes that only repeat the text of their parent, or have no content. */
const IGNORED_ROLES = new Set(["none", "InlineTextBox", "LineBreak", "ListMarker"]);

const ROLES: Record<string, string> = {
  RootWebArea: "document",
  StaticText: "text",
  Iframe: "iframe",
  LabelText: "label",
};
const textOf = (value: AxValue | undefined): string =>
  value?.value === undefined || value.value === null ? "" : sanitizeText(String(value.value));

interface FrameTree {
  frame: { id: string };
  childFrames?: FrameTree[];
}

/**
 * Reads at most `limit` nodes of the page and its frames. `frames` are sessions of the frames in separate processes; an
 * unresponsive one is left empty.
 */
export async function readAxTree(
  tab: CdpSession,
  frames: readonly CdpSession[],
  limit: number,
): Promise<{ nodes: AxEntry[]; interactive: number; truncated: boolean }> {
  const [pageTrees, ...frameTrees] = await Promise.all([
    readProcessTrees(tab),
    ...frames.map((frame) => attempt(FRAME_MS, readProcessTrees(frame), [])),
  ]);
  const entries: AxEntry[] = [];
  for (const tree of [pageTrees, ...frameTrees].flat())
    for (const entry of entriesIn(tree)) {
      if (entries.length >= limit) return summaryOf(entries, true);
      entries.push(entry);
    }
  return summaryOf(entries, false);
}

const summaryOf = (nodes: AxEntry[], truncated: boolean) => ({
  nodes,
  interactive: nodes.filter(({ role }) => INTERACTIVE.has(role)).length,
  truncated,
});

/** Yields the nodes of a tree that have content, each before its descendants. */
function* entriesIn(tree: AxNode[]): Generator<AxEntry> {
  const byId = new Map(tree.map((node) => [node.nodeId, node]));
  const roots = tree.filter((node) => node.parentId === undefined || !byId.has(node.parentId));
  const stack = roots.reverse().map((node) => ({ node, depth: 0 }));
  for (let item = stack.pop(); item !== undefined; item = stack.pop()) {
    const entry = entryOf(item.node, item.depth);
    if (entry !== undefined) yield entry;
    const depth = entry === undefined ? item.depth : item.depth + 1;
    for (const id of [...(item.node.childIds ?? [])].reverse()) {
      const node = byId.get(id);
      if (node !== undefined) stack.push({ node, depth });
    }
  }
}

function entryOf(node: AxNode, depth: number): AxEntry | undefined {
  const axRole = textOf(node.role);
  const name = textOf(node.name);
  const value = textOf(node.value);
  if (node.ignored || IGNORED_ROLES.has(axRole)) return undefined;
  if (axRole === "generic" && name === "" && value === "") return undefined;
  return { role: ROLES[axRole] ?? axRole, name, value: value || undefined, depth };
}

/** Reads the trees of a page, or of a frame, and of the nested frames in the same process. */
async function readProcessTrees(tab: CdpSession): Promise<AxNode[][]> {
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
