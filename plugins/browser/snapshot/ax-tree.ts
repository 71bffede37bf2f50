/** The browser's accessibility tree over plain DevTools, flattened in reading order. */
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
  value?.value === undefined || value.value === null ? "" : sanitizeText(String(value.value));

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
  const entries: AxEntry[] = [];
  for (const tree of [own, ...others].flat())
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

/** The nodes of a tree that say something, each before those below it. */
function* entriesIn(tree: AxNode[]): Generator<AxEntry> {
  const byId = new Map(tree.map((node) => [node.nodeId, node]));
  const roots = tree.filter((node) => node.parentId === undefined || !byId.has(node.parentId));
  const stack = roots.reverse().map((node) => ({ node, depth: 0 }));
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    const entry = entryOf(at.node, at.depth);
    if (entry !== undefined) yield entry;
    const depth = entry === undefined ? at.depth : at.depth + 1;
    for (const id of [...(at.node.childIds ?? [])].reverse()) {
      const node = byId.get(id);
      if (node !== undefined) stack.push({ node, depth });
    }
  }
}

function entryOf(node: AxNode, depth: number): AxEntry | undefined {
  const raw = text(node.role);
  const name = text(node.name);
  const value = text(node.value);
  if (node.ignored || SILENT.has(raw)) return undefined;
  if (raw === "generic" && name === "" && value === "") return undefined;
  return { role: ROLES[raw] ?? raw, name, value: value || undefined, depth };
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
