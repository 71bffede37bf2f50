/**
 * Reads a page's tree with all elements that can be operated: those that are editable, have the focus, or listen for
 * clicks.
 */
import type { CDPSession, Locator, Page } from "../drivers/playwright.ts";
import { attempt } from "../deadline.ts";
import {
  MARK_DELEGATE,
  MARK_LISTENER,
  type MarkResult,
  markOperable,
  unmarkOperable,
} from "./operable-scripts.ts";
import { type AriaNode, everyNode } from "./aria-node.ts";

type Tree = (AriaNode | string)[];

/** The time in ms within which an idle frame is marked. */
const FRAME_MS = 400;
/**
 * Limits for event listeners: the number of elements in a page up to which they are queried, and the number of elements
 * that are marked.
 */
const MAX_ELEMENTS = 5_000;
const MAX_LISTENERS = 150;
const LISTENERS_MS = 500;
/** The number of event types above which an element listens for its content, as the roots of frameworks do. */
const MAX_EVENT_TYPES = 12;
const POINTER_EVENT = /^(click|dblclick|mousedown|mouseup|pointerdown|pointerup|drop)$/;

/** The last reading of each page. Readings run one at a time, because one must not remove the marks of another. */
const lastReadings = new WeakMap<Page, Promise<unknown>>();

/** The page that a tree is read from, and its DevTools session. */
export interface ReadablePage {
  page: Page;
  cdp: CDPSession;
}

/**
 * Marks the page, reads it, and removes the marks. Every reading must go through here: an element whose role changes
 * between two readings would lose its ref.
 */
export async function readMarked<T>(
  tab: ReadablePage,
  read: () => Promise<T>,
): Promise<{ tree: T; marked: MarkResult }> {
  const previous = lastReadings.get(tab.page) ?? Promise.resolve();
  const reading = previous.then(() => markAndRead(tab, read));
  lastReadings.set(
    tab.page,
    reading.catch(() => {}),
  );
  return reading;
}

async function markAndRead<T>(
  { page, cdp }: ReadablePage,
  read: () => Promise<T>,
): Promise<{ tree: T; marked: MarkResult }> {
  const frames = page.frames();
  const markings = frames.map((frame) =>
    attempt(FRAME_MS, frame.evaluate(markOperable), undefined),
  );
  const [top] = await Promise.all([
    ...markings,
    attempt(LISTENERS_MS, markListeners(cdp), undefined),
  ]);
  try {
    return { tree: await read(), marked: top ?? { modal: false, areas: [] } };
  } finally {
    await Promise.all(
      frames.map((frame) => attempt(FRAME_MS, frame.evaluate(unmarkOperable), undefined)),
    );
  }
}

/** Marks elements with event listeners, which only the debugger knows. */
async function markListeners(cdp: CDPSession): Promise<undefined> {
  const { result } = await cdp.send("Runtime.evaluate", {
    expression: `document.getElementsByTagName("*").length > ${MAX_ELEMENTS} ? null : document`,
    objectGroup: "portico-listeners",
  });
  if (result.objectId === undefined) return;
  const { listeners } = await cdp.send("DOMDebugger.getEventListeners", {
    objectId: result.objectId,
    depth: -1,
  });
  const marks = marksFor(listeners).slice(0, MAX_LISTENERS);
  await Promise.all(
    marks.map(async ({ backendNodeId, functionDeclaration }) => {
      const { object } = await cdp.send("DOM.resolveNode", {
        backendNodeId,
        objectGroup: "portico-listeners",
      });
      const objectId = object.objectId!;
      await cdp.send("Runtime.callFunctionOn", { objectId, functionDeclaration });
    }),
  );
  await cdp.send("Runtime.releaseObjectGroup", { objectGroup: "portico-listeners" });
}

interface Listener {
  backendNodeId?: number;
  type: string;
}

interface ListenerMark {
  backendNodeId: number;
  functionDeclaration: string;
}

/**
 * Determines the mark of each element with listeners. Elements that listen for others come first, since there are few
 * of them.
 */
function marksFor(listeners: readonly Listener[]): ListenerMark[] {
  const typesByNode = new Map<number, Set<string>>();
  for (const { backendNodeId, type } of listeners) {
    if (backendNodeId === undefined) continue;
    const types = typesByNode.get(backendNodeId) ?? new Set();
    typesByNode.set(backendNodeId, types.add(type));
  }
  const elements = [...typesByNode].map(([backendNodeId, types]) => ({ backendNodeId, types }));
  const delegates = elements.filter(({ types }) => types.size > MAX_EVENT_TYPES);
  const clickable = elements.filter(
    ({ types }) =>
      types.size <= MAX_EVENT_TYPES && [...types].some((type) => POINTER_EVENT.test(type)),
  );
  return [
    ...delegates.map(({ backendNodeId }) => ({
      backendNodeId,
      functionDeclaration: MARK_DELEGATE,
    })),
    ...clickable.map(({ backendNodeId }) => ({
      backendNodeId,
      functionDeclaration: MARK_LISTENER,
    })),
  ];
}

/** Reads the tree of the page, or of a part of it. */
export async function readAria(
  tab: ReadablePage,
  options: { mode: "ai"; timeout?: number } = { mode: "ai" },
  root: Page | Locator = tab.page,
): Promise<Tree> {
  const { tree } = await readMarked(tab, async () => root.ariaSnapshotJSON(options) as unknown);
  return Array.isArray(tree) ? (tree as Tree) : [tree as AriaNode];
}

/** Adds the links of image maps, which the tree lacks. They are clicked by position. */
export function addAreas(roots: Tree, { areas }: MarkResult): void {
  for (const { name, url, x, y } of areas)
    roots.push({ role: "link", name, url, text: `click x=${x}, y=${y}` });
}

/** Marks the elements behind an open modal dialog. */
export function markBehind(roots: Tree, { modal }: MarkResult): void {
  if (!modal) return;
  const dialog = [...everyNode(roots)].findLast(({ role }) => /^(alert)?dialog$/.test(role));
  if (dialog === undefined) return;
  const dialogNodes = new Set([...everyNode([dialog]), ...ancestorsOf(roots, dialog)]);
  for (const node of everyNode(roots))
    if (node.ref !== undefined && !dialogNodes.has(node)) node.behind = true;
}

/** Returns the ancestors of a node. */
function ancestorsOf(roots: Tree, descendant: AriaNode): AriaNode[] {
  const parents = new Map<AriaNode, AriaNode>();
  for (const node of everyNode(roots))
    for (const child of node.children ?? [])
      if (typeof child !== "string") parents.set(child, node);
  const path: AriaNode[] = [];
  for (let at = parents.get(descendant); at !== undefined; at = parents.get(at)) path.push(at);
  return path;
}
