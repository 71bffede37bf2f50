/** Reads a page's tree with all that can be operated in it: what is editable, has the focus, or listens for clicks. */
import type { CDPSession, Locator, Page } from "../drivers/playwright.ts";
import { attempt } from "../deadline.ts";
import {
  MARK_DELEGATE,
  MARK_LISTENER,
  type Marked,
  markOperable,
  unmarkOperable,
} from "./operable-scripts.ts";
import { type AriaNode, everyNode } from "./aria-node.ts";

type Tree = (AriaNode | string)[];

/** A frame that is not busy is marked within this. */
const FRAME_MS = 400;
/** Listeners are looked up in pages of up to so many elements, and so many of them are marked. */
const MOST_ELEMENTS = 5_000;
const MOST_LISTENERS = 150;
const LISTENERS_MS = 500;
/** An element that listens for more kinds of events does so for what is in it, as the roots of frameworks do. */
const MOST_KINDS = 12;
const POINTER = /^(click|dblclick|mousedown|mouseup|pointerdown|pointerup|drop)$/;

/** One reading of a page at a time: the marks of one must not end with another. */
const reading = new WeakMap<Page, Promise<unknown>>();

/** What a tree is read from. */
export interface Readable {
  page: Page;
  cdp: CDPSession;
}

/**
 * Marks the page, reads it, and takes the marks off again. Every reading goes through here: an element whose role
 * changes between two of them would lose its ref.
 */
export async function readMarked<T>(
  tab: Readable,
  read: () => Promise<T>,
): Promise<{ tree: T; marked: Marked }> {
  const before = reading.get(tab.page) ?? Promise.resolve();
  const mine = before.then(() => markAndRead(tab, read));
  reading.set(
    tab.page,
    mine.catch(() => {}),
  );
  return mine;
}

async function markAndRead<T>(
  { page, cdp }: Readable,
  read: () => Promise<T>,
): Promise<{ tree: T; marked: Marked }> {
  const frames = page.frames();
  const all = frames.map((frame) => attempt(FRAME_MS, frame.evaluate(markOperable), undefined));
  const [top] = await Promise.all([...all, attempt(LISTENERS_MS, markListeners(cdp), undefined)]);
  try {
    return { tree: await read(), marked: top ?? { modal: false, areas: [] } };
  } finally {
    await Promise.all(
      frames.map((frame) => attempt(FRAME_MS, frame.evaluate(unmarkOperable), undefined)),
    );
  }
}

/** Only the debugger knows who listens. */
async function markListeners(cdp: CDPSession): Promise<undefined> {
  const { result } = await cdp.send("Runtime.evaluate", {
    expression: `document.getElementsByTagName("*").length > ${MOST_ELEMENTS} ? null : document`,
    objectGroup: "portico-listeners",
  });
  if (result.objectId === undefined) return;
  const { listeners } = await cdp.send("DOMDebugger.getEventListeners", {
    objectId: result.objectId,
    depth: -1,
  });
  const marks = marksFor(listeners).slice(0, MOST_LISTENERS);
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

/** What each element with listeners is marked as: those that listen for others first, since there are few of them. */
function marksFor(listeners: readonly Listener[]): ListenerMark[] {
  const kinds = new Map<number, Set<string>>();
  for (const { backendNodeId, type } of listeners) {
    if (backendNodeId === undefined) continue;
    const known = kinds.get(backendNodeId) ?? new Set();
    kinds.set(backendNodeId, known.add(type));
  }
  const all = [...kinds].map(([backendNodeId, types]) => ({ backendNodeId, types }));
  const delegates = all.filter(({ types }) => types.size > MOST_KINDS);
  const clickable = all.filter(
    ({ types }) => types.size <= MOST_KINDS && [...types].some((type) => POINTER.test(type)),
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

/** The tree of the page, or of a part. */
export async function readAria(
  tab: Readable,
  options: { mode: "ai"; timeout?: number } = { mode: "ai" },
  root: Page | Locator = tab.page,
): Promise<Tree> {
  const { tree } = await readMarked(tab, async () => root.ariaSnapshotJSON(options) as unknown);
  return Array.isArray(tree) ? (tree as Tree) : [tree as AriaNode];
}

/** Adds the links of image maps, which no tree has: they are clicked at their place. */
export function addAreas(roots: Tree, { areas }: Marked): void {
  for (const { name, url, x, y } of areas)
    roots.push({ role: "link", name, url, text: `click x=${x}, y=${y}` });
}

/** Marks the elements behind an open modal dialog. */
export function markBehind(roots: Tree, { modal }: Marked): void {
  if (!modal) return;
  const dialog = [...everyNode(roots)].findLast(({ role }) => /^(alert)?dialog$/.test(role));
  if (dialog === undefined) return;
  const spared = new Set([...everyNode([dialog]), ...pathTo(roots, dialog)]);
  for (const node of everyNode(roots))
    if (node.ref !== undefined && !spared.has(node)) node.behind = true;
}

/** The nodes that hold another one. */
function pathTo(roots: Tree, goal: AriaNode): AriaNode[] {
  const parents = new Map<AriaNode, AriaNode>();
  for (const node of everyNode(roots))
    for (const child of node.children ?? [])
      if (typeof child !== "string") parents.set(child, node);
  const path: AriaNode[] = [];
  for (let at = parents.get(goal); at !== undefined; at = parents.get(at)) path.push(at);
  return path;
}
