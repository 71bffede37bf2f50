/** GET /snapshot: returns the content of a page as text with refs. */
import type { PorticoError } from "portico";
import { errors } from "../errors.ts";
import { sanitizeText } from "../snapshot/text.ts";
import type { CdpSession } from "../drivers/cdp.ts";
import { attempt, remainingMs, withTimeout } from "../deadline.ts";
import { toPublicError, isTimeout } from "../failures.ts";
import { findElement, NO_NEEDS } from "../actions/elements.ts";
import { existsAny } from "../actions/probing.ts";
import { readAxTree } from "../snapshot/ax-tree.ts";
import { createPageQuery, type PageAbout } from "../tab/about.ts";
import { probeElement } from "../tab/page-scripts.ts";
import type { CDPSession, Locator } from "../drivers/playwright.ts";
import { refNumber } from "../snapshot/refs.ts";
import { type AriaNode, everyNode } from "../snapshot/aria-node.ts";
import { nameHiddenBoxes } from "../snapshot/hidden-boxes.ts";
import { addAreas, markBehind, readMarked } from "../snapshot/operable.ts";
import { hidePasswords } from "../snapshot/passwords.ts";
import { isInteractive, render, type Rendered, type View } from "../snapshot/render.ts";
import { diffLines } from "../snapshot/diff.ts";
import type { SnapshotRecord, Tab } from "../tab/tab.ts";
import { takeLabelledScreenshot } from "./labels.ts";
import { checkCurrentPage, type CommonInput, type Op, getReadableTab } from "../op.ts";

interface SnapshotInput extends CommonInput {
  format?: "ai" | "aria";
  /** `default` selects the mode in `browser.snapshotDefaults.mode` (command line and agent tool). */
  mode?: "efficient" | "full" | "default";
  interactive?: boolean;
  compact?: boolean;
  depth?: number;
  selector?: string;
  frame?: string | number;
  labels?: boolean;
  limit?: number;
  maxChars?: number;
  diff?: boolean;
}

const SNAPSHOT_MS = 45_000;
/** The time in ms of a whole snapshot above which it is not repeated after a partial one. */
const MAX_REPEAT_MS = 2_000;
/** The number of elements from which on the page's size explains a slow snapshot. */
const LARGE_PAGE_ELEMENTS = 5_000;
const MAX_CHARS = 80_000;
const EFFICIENT_LIMITS = { maxChars: 10_000, depth: 6 } as const;
const ARIA_LIMIT = 500;

/** True for the efficient mode, set by the caller or by default. The default applies only if no format is given. */
function isEfficient(op: Op, { mode, format }: SnapshotInput): boolean {
  const usesDefault = mode === "default" && format === undefined;
  return mode === "efficient" || (usesDefault && op.config.snapshotDefaults.mode === "efficient");
}

const hasRoleOption = ({ interactive, compact, depth, selector, frame }: SnapshotInput): boolean =>
  Boolean(interactive || compact) ||
  depth !== undefined ||
  selector !== undefined ||
  frame !== undefined;

/** Builds the view from the options. A role option forces a role snapshot, whatever the format. */
function viewOf(op: Op, input: SnapshotInput): View {
  const useEfficient = isEfficient(op, input);
  return {
    style: useEfficient || hasRoleOption(input) ? "role" : "ai",
    interactive: input.interactive ?? useEfficient,
    compact: input.compact ?? useEfficient,
    depth: input.depth ?? (useEfficient ? EFFICIENT_LIMITS.depth : undefined),
    limit: input.limit,
    maxChars: input.maxChars ?? (useEfficient ? EFFICIENT_LIMITS.maxChars : MAX_CHARS),
  };
}

type Tree = (AriaNode | string)[];
const treeOf = (value: unknown): Tree =>
  Array.isArray(value) ? (value as Tree) : [value as AriaNode];

/** Identifies the document of a tree by the prefix of the library's refs, which is the document's number. */
function documentOf(roots: Tree): string {
  for (const { ref } of everyNode(roots))
    if (ref !== undefined) return /^(f\d+)?e/.exec(ref)?.[1] ?? "";
  return "";
}

async function findFirst(locator: Locator, what: string, param: string): Promise<Locator> {
  let exists: boolean;
  try {
    exists = await existsAny(locator);
  } catch (cause) {
    throw errors.badSelector({ param }, { param, cause });
  }
  if (exists) return locator.first();
  throw errors.nothingMatches({ what, param }, { param });
}

/** Returns the body of the frame that the snapshot is limited to, found by a ref of the iframe or a CSS selector. */
async function findFrameBody(tab: Tab, frame: string | number, timeout: number): Promise<Locator> {
  const owner =
    refNumber(frame) === undefined
      ? await findFirst(tab.page.locator(String(frame)), "iframe", "frame")
      : (await findElement(tab, frame, NO_NEEDS, timeout, "frame")).locator;
  const { tag } = await owner.evaluate(probeElement, NO_NEEDS, { timeout });
  if (/^<i?frame\b/.test(tag)) return owner.contentFrame().locator("body");
  throw errors.notAFrame({ tag }, { param: "frame" });
}

/** The time in ms within which a responsive frame responds. */
const FRAME_MS = 400;
/** The time in ms for a page with unresponsive frames, for which the library would wait until the whole timeout. */
const UNRESPONSIVE_FRAME_MS = 4_000;

async function areFramesResponsive(tab: Tab): Promise<boolean> {
  const frames = tab.page.frames().slice(1);
  const responses = frames.map((frame) => attempt(FRAME_MS, frame.evaluate("true"), false));
  return (await Promise.all(responses)).every(Boolean);
}

/** Reads the tree of the page or a part of it. Unresponsive frames are empty in it. */
async function readTreePatiently(
  tab: Tab,
  input: SnapshotInput,
  timeoutMs: number,
  { root }: Pick<PageAbout, "root">,
): Promise<Tree> {
  const start = Date.now();
  const read = (timeout: number): Promise<Tree> => readTree(tab, input, timeout, root);
  if (await areFramesResponsive(tab)) return read(timeoutMs);
  try {
    return await read(Math.min(timeoutMs, UNRESPONSIVE_FRAME_MS));
  } catch (error) {
    if (!isTimeout(error)) throw error;
    return read(remainingMs(start, timeoutMs));
  }
}

async function readTree(
  tab: Tab,
  input: SnapshotInput,
  timeout: number,
  root: PageAbout["root"],
): Promise<Tree> {
  const options = { mode: "ai" as const, timeout, boxes: input.labels };
  // The library waits for a body, even forever if the document gets none.
  const readWhole = async (snapshotOptions: { mode: "ai"; timeout: number }): Promise<Tree> => {
    if (root === "none") return [];
    return treeOf(
      await (root === "body" ? tab.page : tab.page.locator(root)).ariaSnapshotJSON(snapshotOptions),
    );
  };
  if (input.frame === undefined && input.selector === undefined) return readWhole(options);
  const body =
    input.frame === undefined ? undefined : await findFrameBody(tab, input.frame, timeout);
  if (input.selector === undefined) return treeOf(await body!.ariaSnapshotJSON(options));
  const scope =
    body === undefined ? tab.page.locator(input.selector) : body.locator(input.selector);
  const partialTree = treeOf(
    await (await findFirst(scope, "element", "selector")).ariaSnapshotJSON(options),
  );
  // A partial snapshot makes the engine forget the refs of the rest of the page, so a previous whole snapshot is
  // repeated to restore them. On a page that is too large for that, the rest needs a new snapshot.
  if (body !== undefined) await body.ariaSnapshotJSON({ mode: "ai", timeout });
  else if (
    tab.lastWholeSnapshot?.document === documentOf(partialTree) &&
    tab.lastWholeSnapshot.ms < MAX_REPEAT_MS
  ) {
    await readWhole({ mode: "ai", timeout });
  }
  return partialTree;
}

/**
 * Explains a timeout. The time of a snapshot grows with the number of elements, and even more with that of form
 * controls.
 */
function timeoutError(timeoutMs: number, elements: number, cause: unknown): PorticoError {
  return elements < LARGE_PAGE_ELEMENTS
    ? errors.snapshotOfUnresponsivePage({ ms: timeoutMs }, { cause })
    : errors.snapshotOfLargePage({ ms: timeoutMs, elements }, { cause });
}

/** Takes a snapshot of a tab in a view. Also used by `/act`, whose response can include one. */
export async function takeSnapshot(
  op: Op,
  tab: Tab,
  input: SnapshotInput,
): Promise<{ ok: boolean }> {
  const start = Date.now();
  const timeoutMs = input.timeoutMs ?? SNAPSHOT_MS;
  const view = viewOf(op, input);
  const queryPage = createPageQuery(tab.cdp);
  const initialAbout = queryPage();
  const reading = initialAbout.then((about) =>
    readMarked(tab, () => readTreePatiently(tab, input, timeoutMs, about)),
  );
  const { tree: roots, marked } = await withTimeout(timeoutMs + 300, "The snapshot", reading).catch(
    async (error: unknown) => {
      throw isTimeout(error)
        ? timeoutError(timeoutMs, (await initialAbout).elements, error)
        : toPublicError(error, "The snapshot");
    },
  );
  const document = documentOf(roots);
  const isWhole = input.frame === undefined && input.selector === undefined;
  if (isWhole) tab.lastWholeSnapshot = { document, ms: Date.now() - start };
  await checkCurrentPage(op, tab.url);
  await hidePasswords(tab.page, roots);
  nameHiddenBoxes(roots);
  if (isWhole) addAreas(roots, marked);
  markBehind(roots, marked);
  const rendered = render(roots, view, tab.refs);
  const { title, contentType } = await queryPage();
  const note = describeMedia(contentType);
  if (note !== undefined) rendered.lines.unshift(note);
  tab.printedRefs = rendered.refs;
  const key = JSON.stringify([op.caller, view, input.selector, input.frame]);
  const previous = storeSnapshot(tab, key, { document, lines: rendered.lines });
  const { lines, refs, interactive, diff } = input.diff
    ? diffWith(rendered, previous?.document === document ? previous.lines : undefined)
    : { ...rendered, diff: undefined };
  const text = lines.join("\n");
  const response = {
    ok: true,
    format: "ai",
    mode: modeOf(view, input),
    targetId: tab.targetId,
    url: tab.url,
    title: sanitizeText(title),
    snapshot: text,
    refs,
    stats: { lines: lines.length, chars: text.length, refs: Object.keys(refs).length, interactive },
    truncated: rendered.truncated,
    diff,
  };
  if (!input.labels) return response;
  return {
    ...response,
    ...(await takeLabelledScreenshot(op, tab, rendered.nodes, remainingMs(start, timeoutMs))),
  };
}

const MEDIA_NAMES: Readonly<Record<string, string>> = {
  "application/pdf": "a PDF",
  image: "a picture",
};

/**
 * Describes a page without text (a PDF, an image, …), of which only a screenshot shows the content. Returns `undefined`
 * for other pages.
 */
function describeMedia(contentType: string): string | undefined {
  const [kind] = /^application\/pdf|^(?:image|video|audio)(?=\/(?!svg))/.exec(contentType) ?? [];
  if (kind === undefined) return undefined;
  return `# This page is ${MEDIA_NAMES[kind] ?? `a ${kind} file`} (${sanitizeText(contentType)}), which a snapshot cannot show: take a screenshot, or download the page.`;
}

function modeOf(view: View, input: SnapshotInput): string {
  if (view.style === "ai") return "ai";
  const isEfficient = input.mode !== "full" && view.interactive && view.compact;
  return isEfficient ? "efficient" : "role";
}

/** Stores the lines for the next `diff`, and returns the caller's previous snapshot of that view. */
function storeSnapshot(tab: Tab, key: string, current: SnapshotRecord): SnapshotRecord | undefined {
  const previous = tab.lastSnapshots.get(key);
  tab.lastSnapshots.delete(key);
  tab.lastSnapshots.set(key, current);
  if (tab.lastSnapshots.size > 12) tab.lastSnapshots.delete(tab.lastSnapshots.keys().next().value!);
  return previous;
}

/** Returns the changes since `before`, or everything if there is no earlier snapshot of the same document. */
function diffWith(
  rendered: Rendered,
  previousLines: readonly string[] | undefined,
): Pick<Rendered, "lines" | "refs" | "interactive"> & { diff: object } {
  if (previousLines === undefined) return { ...rendered, diff: { full: true } };
  const { lines, added, removed } = diffLines(previousLines, rendered.lines);
  const text = lines.join("\n");
  const shownNodes = rendered.nodes.filter(({ key }) => text.includes(`[ref=${key}]`));
  return {
    lines,
    refs: Object.fromEntries(shownNodes.map(({ key }) => [key, rendered.refs[key]!])),
    interactive: shownNodes.filter(({ node }) => isInteractive(node)).length,
    diff: { full: false, added, removed },
  };
}

/**
 * Opens sessions of the frames that have their own processes. Only the library can reach these, and it refuses sessions
 * of frames in the page's process.
 */
async function openFrameSessions(tab: Tab | undefined): Promise<CDPSession[]> {
  const frames = tab?.page.frames().filter((frame) => frame.parentFrame() !== null) ?? [];
  const sessions = frames.map((frame) =>
    attempt(1_000, frame.page().context().newCDPSession(frame), undefined),
  );
  return (await Promise.all(sessions)).filter((session) => session !== undefined);
}

/**
 * Takes a snapshot with `format=aria`: the browser's own accessibility tree, without refs. Works without the library.
 */
async function takeAriaSnapshot(op: Op, input: SnapshotInput): Promise<object> {
  const targetId = await op.session.tabs.targetId(input.targetId);
  op.session.tabs.markUsed(targetId);
  const info = (await op.session.tabs.list()).find((tab) => tab.targetId === targetId);
  await checkCurrentPage(op, info?.url ?? "");
  const tab = await op.session.attachRawTab(targetId);
  const frames = await openFrameSessions(op.session.tabs.find(targetId));
  const limit = input.limit ?? ARIA_LIMIT;
  try {
    const axTree = await withTimeout(
      input.timeoutMs ?? 15_000,
      "The snapshot",
      readAxTree(tab as CdpSession, frames as CdpSession[], limit),
      ({ ms }) => errors.snapshotOfUnresponsivePage({ ms }),
    );
    const lines = axTree.nodes.map(({ role, name, value, depth }) => {
      const suffix = value === undefined ? "" : `: ${value}`;
      return `${"  ".repeat(depth)}- ${role}${name === "" ? "" : ` "${name}"`}${suffix}`;
    });
    const snapshot = lines.join("\n");
    return {
      ok: true,
      format: "aria",
      targetId,
      url: info?.url ?? "",
      title: info?.title ?? "",
      nodes: axTree.nodes,
      snapshot,
      refs: {},
      stats: {
        lines: lines.length,
        chars: snapshot.length,
        refs: 0,
        interactive: axTree.interactive,
      },
      truncated: axTree.truncated,
    };
  } catch (error) {
    throw toPublicError(error, "The snapshot");
  } finally {
    for (const frame of frames) frame.detach().catch(() => {});
    await tab.detach();
  }
}

/** True if the bare accessibility tree is requested, or if no format is requested and the library is missing. */
function isAriaRequested(op: Op, input: SnapshotInput): boolean {
  if (hasRoleOption(input) || input.mode === "efficient") return false;
  return (
    input.format === "aria" ||
    (input.format === undefined && !input.labels && !op.deps.libraryPresent())
  );
}

export async function handleSnapshot(op: Op, input: SnapshotInput): Promise<object> {
  if (input.format === "aria" && input.labels) {
    throw errors.labelsWithoutRefs({ param: "labels" });
  }
  if (isAriaRequested(op, input)) return takeAriaSnapshot(op, input);
  return takeSnapshot(op, await getReadableTab(op, input.targetId, input.timeoutMs), input);
}
