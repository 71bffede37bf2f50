/** GET /snapshot: what is on a page, as text with refs. */
import type { PorticoError } from "portico";
import { errors } from "../errors.ts";
import { sanitizeText } from "../snapshot/text.ts";
import type { CdpSession } from "../drivers/cdp.ts";
import { attempt, remainingMs, within } from "../deadline.ts";
import { failure, isTimeout } from "../failures.ts";
import { findElement, NOTHING } from "../actions/elements.ts";
import { fitsAny } from "../actions/looking.ts";
import { readAxTree } from "../snapshot/ax-tree.ts";
import { questionAbout, type About } from "../tab/about.ts";
import { probeElement } from "../tab/page-scripts.ts";
import type { CDPSession, Locator } from "../drivers/playwright.ts";
import { refNumber } from "../snapshot/refs.ts";
import { type AriaNode, everyNode } from "../snapshot/aria-node.ts";
import { nameHiddenBoxes } from "../snapshot/hidden-boxes.ts";
import { addAreas, markBehind, readMarked } from "../snapshot/operable.ts";
import { hidePasswords } from "../snapshot/passwords.ts";
import { isInteractive, render, type Rendered, type View } from "../snapshot/render.ts";
import { diffLines } from "../snapshot/diff.ts";
import type { Shown, Tab } from "../tab/tab.ts";
import { drawnScreenshot } from "./labels.ts";
import { checkShown, type Common, type Op, readableTab } from "../op.ts";

interface SnapshotInput extends Common {
  format?: "ai" | "aria";
  /** `default`: what `browser.snapshotDefaults.mode` says (command line and agent tool). */
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
/** A whole snapshot that took longer than this is not repeated for the sake of a partial one. */
const REARM_MS = 2_000;
/** From this many elements on it is the page's size that takes the time. */
const LARGE = 5_000;
const MAX_CHARS = 80_000;
const EFFICIENT = { maxChars: 10_000, depth: 6 } as const;
const ARIA_LIMIT = 500;

/** A role option forces a role snapshot, whatever the format; what is set by default does so only where no format is. */
function isEfficient(op: Op, { mode, format }: SnapshotInput): boolean {
  const byDefault = mode === "default" && format === undefined;
  return mode === "efficient" || (byDefault && op.config.snapshotDefaults.mode === "efficient");
}

const asksForRoles = ({ interactive, compact, depth, selector, frame }: SnapshotInput): boolean =>
  Boolean(interactive || compact) ||
  depth !== undefined ||
  selector !== undefined ||
  frame !== undefined;

/** The view that the options describe. */
function viewOf(op: Op, input: SnapshotInput): View {
  const efficient = isEfficient(op, input);
  return {
    style: efficient || asksForRoles(input) ? "role" : "ai",
    interactive: input.interactive ?? efficient,
    compact: input.compact ?? efficient,
    depth: input.depth ?? (efficient ? EFFICIENT.depth : undefined),
    limit: input.limit,
    maxChars: input.maxChars ?? (efficient ? EFFICIENT.maxChars : MAX_CHARS),
  };
}

type Tree = (AriaNode | string)[];
const treeOf = (value: unknown): Tree =>
  Array.isArray(value) ? (value as Tree) : [value as AriaNode];

/** The document that a tree is of: the library's refs begin with the document's number. */
function documentOf(roots: Tree): string {
  for (const { ref } of everyNode(roots))
    if (ref !== undefined) return /^(f\d+)?e/.exec(ref)?.[1] ?? "";
  return "";
}

async function one(locator: Locator, what: string, param: string): Promise<Locator> {
  let fits: boolean;
  try {
    fits = await fitsAny(locator);
  } catch (cause) {
    throw errors.badSelector({ param }, { param, cause });
  }
  if (fits) return locator.first();
  throw errors.nothingFits({ what, param }, { param });
}

/** The frame that a snapshot is limited to: by a ref of the iframe, or by a CSS selector. */
async function frameBody(tab: Tab, frame: string | number, timeout: number): Promise<Locator> {
  const owner =
    refNumber(frame) === undefined
      ? await one(tab.page.locator(String(frame)), "iframe", "frame")
      : (await findElement(tab, frame, NOTHING, timeout, "frame")).locator;
  const { tag } = await owner.evaluate(probeElement, NOTHING, { timeout });
  if (/^<i?frame\b/.test(tag)) return owner.contentFrame().locator("body");
  throw errors.notAFrame({ tag }, { param: "frame" });
}

/** A frame that answers does so within this. */
const FRAME_MS = 400;
/** What a page may take whose frames do not all answer: the library would wait for them to the very end. */
const DEAF_FRAME_MS = 4_000;

async function framesAnswer(tab: Tab): Promise<boolean> {
  const frames = tab.page.frames().slice(1);
  const answers = frames.map((frame) => attempt(FRAME_MS, frame.evaluate("true"), false));
  return (await Promise.all(answers)).every(Boolean);
}

/** The tree of the page or a part of it. Frames that do not answer are empty in it. */
async function patientTree(
  tab: Tab,
  input: SnapshotInput,
  timeoutMs: number,
  { root }: Pick<About, "root">,
): Promise<Tree> {
  const start = Date.now();
  const read = (timeout: number): Promise<Tree> => tree(tab, input, timeout, root);
  if (await framesAnswer(tab)) return read(timeoutMs);
  try {
    return await read(Math.min(timeoutMs, DEAF_FRAME_MS));
  } catch (error) {
    if (!isTimeout(error)) throw error;
    return read(remainingMs(start, timeoutMs));
  }
}

async function tree(
  tab: Tab,
  input: SnapshotInput,
  timeout: number,
  root: About["root"],
): Promise<Tree> {
  const options = { mode: "ai" as const, timeout, boxes: input.labels };
  // The library waits for a body, and would do so for ever where none comes.
  const whole = async (given: { mode: "ai"; timeout: number }): Promise<Tree> => {
    if (root === "none") return [];
    return treeOf(
      await (root === "body" ? tab.page : tab.page.locator(root)).ariaSnapshotJSON(given),
    );
  };
  if (input.frame === undefined && input.selector === undefined) return whole(options);
  const body = input.frame === undefined ? undefined : await frameBody(tab, input.frame, timeout);
  if (input.selector === undefined) return treeOf(await body!.ariaSnapshotJSON(options));
  const scope =
    body === undefined ? tab.page.locator(input.selector) : body.locator(input.selector);
  const scoped = treeOf(await (await one(scope, "element", "selector")).ariaSnapshotJSON(options));
  // A snapshot of a part makes the engine forget the refs of the rest: a whole one brings them back, where there was
  // one. On a page that is too large for that the rest has to be looked at again.
  if (body !== undefined) await body.ariaSnapshotJSON({ mode: "ai", timeout });
  else if (tab.whole?.document === documentOf(scoped) && tab.whole.ms < REARM_MS) {
    await whole({ mode: "ai", timeout });
  }
  return scoped;
}

/** A snapshot costs the page time with each of its elements, and more than that with each of its form controls. */
function tooLate(timeoutMs: number, elements: number, cause: unknown): PorticoError {
  return elements < LARGE
    ? errors.snapshotOfDeafPage({ ms: timeoutMs }, { cause })
    : errors.snapshotOfLargePage({ ms: timeoutMs, elements }, { cause });
}

/** A snapshot of a tab in a view; shared with `/act`, which can answer one. */
export async function takeSnapshot(
  op: Op,
  tab: Tab,
  input: SnapshotInput,
): Promise<{ ok: boolean }> {
  const start = Date.now();
  const timeoutMs = input.timeoutMs ?? SNAPSHOT_MS;
  const view = viewOf(op, input);
  const about = questionAbout(tab.cdp);
  const asking = about();
  const reading = asking.then((now) =>
    readMarked(tab, () => patientTree(tab, input, timeoutMs, now)),
  );
  const { tree: roots, marked } = await within(timeoutMs + 300, "The snapshot", reading).catch(
    async (error: unknown) => {
      throw isTimeout(error)
        ? tooLate(timeoutMs, (await asking).elements, error)
        : failure(error, "The snapshot");
    },
  );
  const document = documentOf(roots);
  const isWhole = input.frame === undefined && input.selector === undefined;
  if (isWhole) tab.whole = { document, ms: Date.now() - start };
  await checkShown(op, tab.url);
  await hidePasswords(tab.page, roots);
  nameHiddenBoxes(roots);
  if (isWhole) addAreas(roots, marked);
  markBehind(roots, marked);
  const drawn = render(roots, view, tab.refs);
  const { title, contentType } = await about();
  const media = mediaNote(contentType);
  if (media !== undefined) drawn.lines.unshift(media);
  tab.printed = drawn.refs;
  const key = JSON.stringify([op.caller, view, input.selector, input.frame]);
  const before = remember(tab, key, { document, lines: drawn.lines });
  const { lines, refs, interactive, diff } = input.diff
    ? changed(drawn, before?.document === document ? before.lines : undefined)
    : { ...drawn, diff: undefined };
  const text = lines.join("\n");
  const answer = {
    ok: true,
    format: "ai",
    mode: modeOf(view, input),
    targetId: tab.targetId,
    url: tab.url,
    title: sanitizeText(title),
    snapshot: text,
    refs,
    stats: { lines: lines.length, chars: text.length, refs: Object.keys(refs).length, interactive },
    truncated: drawn.truncated,
    diff,
  };
  if (!input.labels) return answer;
  return {
    ...answer,
    ...(await drawnScreenshot(op, tab, drawn.nodes, remainingMs(start, timeoutMs))),
  };
}

const MEDIA: Readonly<Record<string, string>> = {
  "application/pdf": "a PDF",
  image: "a picture",
};

/** What a page is that holds no text, in words: its picture is all that there is to see. */
function mediaNote(contentType: string): string | undefined {
  const [kind] = /^application\/pdf|^(?:image|video|audio)(?=\/(?!svg))/.exec(contentType) ?? [];
  if (kind === undefined) return undefined;
  return `# This page is ${MEDIA[kind] ?? `a ${kind} file`} (${sanitizeText(contentType)}), which a snapshot cannot show: take a screenshot, or download the page.`;
}

function modeOf(view: View, input: SnapshotInput): string {
  if (view.style === "ai") return "ai";
  const isEfficient = input.mode !== "full" && view.interactive && view.compact;
  return isEfficient ? "efficient" : "role";
}

/** Keeps the lines for the next `diff`, and answers those of the caller's last snapshot of that view. */
function remember(tab: Tab, key: string, now: Shown): Shown | undefined {
  const before = tab.shown.get(key);
  tab.shown.delete(key);
  tab.shown.set(key, now);
  if (tab.shown.size > 12) tab.shown.delete(tab.shown.keys().next().value!);
  return before;
}

/** What came and went since `before`; all of it where there is none, or of another document: nothing is the same there. */
function changed(
  drawn: Rendered,
  before: readonly string[] | undefined,
): Pick<Rendered, "lines" | "refs" | "interactive"> & { diff: object } {
  if (before === undefined) return { ...drawn, diff: { full: true } };
  const { lines, added, removed } = diffLines(before, drawn.lines);
  const text = lines.join("\n");
  const shownNodes = drawn.nodes.filter(({ key }) => text.includes(`[ref=${key}]`));
  return {
    lines,
    refs: Object.fromEntries(shownNodes.map(({ key }) => [key, drawn.refs[key]!])),
    interactive: shownNodes.filter(({ node }) => isInteractive(node)).length,
    diff: { full: false, added, removed },
  };
}

/** Of the frames in processes of their own. The library alone reaches them, and refuses those in their page's process. */
async function frameSessions(tab: Tab | undefined): Promise<CDPSession[]> {
  const frames = tab?.page.frames().filter((frame) => frame.parentFrame() !== null) ?? [];
  const sessions = frames.map((frame) =>
    attempt(1_000, frame.page().context().newCDPSession(frame), undefined),
  );
  return (await Promise.all(sessions)).filter((session) => session !== undefined);
}

/** `format=aria`: the browser's own accessibility tree, without refs; needs no library. */
async function ariaSnapshot(op: Op, input: SnapshotInput): Promise<object> {
  const targetId = await op.session.tabs.targetId(input.targetId);
  op.session.tabs.use(targetId);
  const info = (await op.session.tabs.list()).find((tab) => tab.targetId === targetId);
  await checkShown(op, info?.url ?? "");
  const tab = await op.session.rawTab(targetId);
  const frames = await frameSessions(op.session.tabs.find(targetId));
  const limit = input.limit ?? ARIA_LIMIT;
  try {
    const found = await within(
      input.timeoutMs ?? 15_000,
      "The snapshot (the page does not respond)",
      readAxTree(tab as CdpSession, frames as CdpSession[], limit),
    );
    const lines = found.nodes.map(({ role, name, value, depth }) => {
      const shown = value === undefined ? "" : `: ${value}`;
      return `${"  ".repeat(depth)}- ${role}${name === "" ? "" : ` "${name}"`}${shown}`;
    });
    const snapshot = lines.join("\n");
    return {
      ok: true,
      format: "aria",
      targetId,
      url: info?.url ?? "",
      title: info?.title ?? "",
      nodes: found.nodes,
      snapshot,
      refs: {},
      stats: {
        lines: lines.length,
        chars: snapshot.length,
        refs: 0,
        interactive: found.interactive,
      },
      truncated: found.truncated,
    };
  } catch (error) {
    throw failure(error, "The snapshot");
  } finally {
    for (const frame of frames) frame.detach().catch(() => {});
    await tab.detach();
  }
}

/** True for the bare accessibility tree: it was asked for, or nothing was and there is no library for more. */
function isAria(op: Op, input: SnapshotInput): boolean {
  if (asksForRoles(input) || input.mode === "efficient") return false;
  return (
    input.format === "aria" ||
    (input.format === undefined && !input.labels && !op.deps.libraryPresent())
  );
}

export async function snapshot(op: Op, input: SnapshotInput): Promise<object> {
  if (input.format === "aria" && input.labels) {
    throw errors.labelsWithoutRefs({ param: "labels" });
  }
  if (isAria(op, input)) return ariaSnapshot(op, input);
  return takeSnapshot(op, await readableTab(op, input.targetId, input.timeoutMs), input);
}
