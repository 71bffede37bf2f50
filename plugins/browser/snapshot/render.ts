/**
 * Renders the library's tree of a page as the text that a model reads. The functions are pure and do not access the
 * page.
 */
import { quoteName, sanitizeText } from "./text.ts";
import type { RefTable } from "./refs.ts";
import type { AriaNode } from "./aria-node.ts";
import { contentOf, nameOf } from "./names.ts";
import { INTERACTIVE, STRUCTURAL } from "./roles.ts";

export interface View {
  /** `ai` prints `[ref=12]`, `role` prints `[ref=e12]`. */
  style: "ai" | "role";
  interactive: boolean;
  compact: boolean;
  /** The maximum number of levels below the root. */
  depth?: number | undefined;
  /** The maximum number of printed nodes. */
  limit?: number | undefined;
  maxChars: number;
}

interface RefInfo {
  role: string;
  name?: string;
  /** The index among elements with the same role and name, from 0; absent if there is only one. */
  nth?: number;
  /** The library's ref of the element. */
  native: string;
}

export interface Rendered {
  lines: string[];
  refs: Record<string, RefInfo>;
  /** The printed nodes that have a ref, in order. */
  nodes: { key: string; node: AriaNode }[];
  interactive: number;
  truncated: boolean;
  /** The number of nodes that were omitted because of `limit` or `maxChars`. */
  omittedCount: number;
}

const STATES = [
  "checked",
  "disabled",
  "expanded",
  "active",
  "level",
  "pressed",
  "selected",
  "invalid",
  "behind",
] as const;

function statesOf(node: AriaNode): string {
  let text = "";
  for (const key of STATES) {
    const value = node[key];
    if (value === undefined || value === false) continue;
    text += value === true ? ` [${key}]` : ` [${key}=${sanitizeText(String(value))}]`;
  }
  return text;
}

export const isInteractive = (node: AriaNode): boolean =>
  INTERACTIVE.has(node.role) || (node.cursor === "pointer" && node.ref !== undefined);

/** True for a node that has content of its own, so that a compact view shows it. */
const hasContent = (node: AriaNode): boolean =>
  !STRUCTURAL.has(node.role) || Boolean(node.name) || Boolean(node.text) || isInteractive(node);

const keyOf = (n: number, style: View["style"]): string => (style === "ai" ? String(n) : `e${n}`);

/** The space in characters for the line that says how much was omitted. */
const NOTE_CHARS = 110;

/**
 * Renders a tree. Nodes are printed whole or not at all, and only printed nodes get refs. If nodes are omitted, a last
 * line says so, unless `maxChars` hardly leaves room for anything else.
 */
export function render(roots: Roots, view: View, table: RefTable): Rendered {
  const complete = renderWithin(roots, view, table, view.maxChars);
  if (!complete.truncated || view.maxChars < 2 * NOTE_CHARS) return complete;
  const shortened = renderWithin(roots, view, table, view.maxChars - NOTE_CHARS);
  shortened.lines.push(
    `# cut here, ${shortened.omittedCount} more nodes: narrow the snapshot with selector, depth, interactive or compact`,
  );
  return shortened;
}

type Roots = readonly (AriaNode | string)[];

function renderWithin(roots: Roots, view: View, table: RefTable, room: number): Rendered {
  const renderer = new SnapshotRenderer(view, table, room);
  for (const root of roots) renderer.walk(root, { level: 0, indent: "", inPointer: false });
  return renderer.finish();
}

/** The position of a node in the tree. */
interface NodePosition {
  level: number;
  indent: string;
  /** True if the node is inside a clickable element. */
  inPointer: boolean;
}

/** Builds one snapshot: collects its lines and tracks the remaining room. */
class SnapshotRenderer {
  readonly #view: View;
  readonly #table: RefTable;
  readonly #room: number;
  readonly #limit: number;
  readonly #infosByName = new Map<string, RefInfo[]>();
  readonly #out: Rendered = {
    lines: [],
    refs: {},
    nodes: [],
    interactive: 0,
    truncated: false,
    omittedCount: 0,
  };
  /** The length of the joined lines, which have one line break less than lines. */
  #chars = -1;
  #printedNodes = 0;

  constructor(view: View, table: RefTable, room: number) {
    this.#view = view;
    this.#table = table;
    this.#room = room;
    this.#limit = view.limit ?? Number.POSITIVE_INFINITY;
  }

  /** Renders a node and its descendants. */
  walk(node: AriaNode | string, place: NodePosition): void {
    if (typeof node !== "string") this.#walkElement(node, place);
    else if (!this.#view.interactive)
      this.#addLines([`${place.indent}- text: ${sanitizeText(node)}`]);
  }

  #walkElement(node: AriaNode, { level, indent, inPointer }: NodePosition): void {
    const view = this.#view;
    const isShown = isLineShown(view, node, inPointer);
    if (isShown) this.#print(node, view.interactive ? "" : indent);
    // If grouping nodes are omitted, they do not count as levels either.
    const isLevel = !(view.compact || view.interactive) || hasContent(node);
    const childPosition = {
      level: isLevel ? level + 1 : level,
      indent: isShown && !view.interactive ? `${indent}  ` : indent,
      inPointer: inPointer || node.cursor === "pointer",
    };
    if (view.depth !== undefined && childPosition.level > view.depth) return;
    for (const child of node.children ?? []) this.walk(child, childPosition);
  }

  /** Numbers elements that share role and name, and returns the result. */
  finish(): Rendered {
    for (const twins of this.#infosByName.values()) {
      if (twins.length > 1) for (const [nth, info] of twins.entries()) info.nth = nth;
    }
    const out = this.#out;
    if (this.#view.interactive && out.lines.length === 0 && !out.truncated)
      out.lines.push("(no interactive elements)");
    return out;
  }

  #print(node: AriaNode, indent: string): void {
    const fullName = nameOf(node);
    const key = this.#keyFor(node, fullName);
    if (!this.#addLines(linesOf(this.#view, node, fullName, key, indent))) return;
    if (isInteractive(node)) this.#out.interactive += 1;
    if (key !== undefined) this.#register(node, key, fullName);
  }

  /** Returns the node's key. If the node then does not fit, its number is wasted, which does no harm. */
  #keyFor(node: AriaNode, fullName: string): string | undefined {
    if (node.ref === undefined || this.#out.truncated) return undefined;
    return keyOf(this.#table.number(node.ref, node.role, fullName), this.#view.style);
  }

  /** Adds lines if they fit, and returns whether they did. */
  #addLines(lines: string[]): boolean {
    const out = this.#out;
    const size = lines.reduce((sum, line) => sum + line.length + 1, 0);
    if (out.truncated || this.#printedNodes >= this.#limit || this.#chars + size > this.#room) {
      out.truncated = true;
      out.omittedCount += 1;
      return false;
    }
    out.lines.push(...lines);
    this.#chars += size;
    this.#printedNodes += 1;
    return true;
  }

  #register(node: AriaNode, key: string, fullName: string): void {
    const info: RefInfo = {
      role: node.role,
      native: node.ref!,
      name: sanitizeText(fullName) || undefined,
    };
    const kind = `${node.role}\0${fullName}`;
    const twins = this.#infosByName.get(kind);
    if (twins === undefined) this.#infosByName.set(kind, [info]);
    else twins.push(info);
    this.#out.refs[key] = info;
    this.#out.nodes.push({ key, node });
  }
}

/** True for a node that has its own line in the view. */
function isLineShown(view: View, node: AriaNode, inPointer: boolean): boolean {
  if (!view.interactive) return !view.compact || (hasContent(node) && !isEmptyBranch(node));
  if (INTERACTIVE.has(node.role)) return node.ref !== undefined || node.role !== "option";
  // Children inherit a pointer cursor: only the clickable box itself is shown, unless a child is a control too.
  return isInteractive(node) && !inPointer;
}

/** Returns the line of a node, and those of its address and placeholder. */
function linesOf(
  view: View,
  node: AriaNode,
  fullName: string,
  key: string | undefined,
  indent: string,
): string[] {
  // In a tree view, the children below show the text of the name.
  const shownName = view.interactive ? fullName : (node.name ?? "");
  const name = shownName === "" ? "" : ` ${quoteName(shownName)}`;
  const ref = key === undefined ? "" : ` [ref=${key}]`;
  const cursor = node.cursor === undefined ? "" : ` [cursor=${sanitizeText(node.cursor)}]`;
  const role = sanitizeText(node.role);
  const text = textOf(view, node, shownName);
  const lines = [`${indent}- ${role}${name}${statesOf(node)}${ref}${cursor}${text}`];
  if (view.style !== "ai" && view.compact) return lines;
  if (node.url !== undefined) lines.push(`${indent}  - /url: ${sanitizeText(node.url)}`);
  if (node.placeholder !== undefined)
    lines.push(`${indent}  - /placeholder: ${sanitizeText(node.placeholder)}`);
  return lines;
}

/** Returns the text after the colon of a node's line; empty if it only repeats the name. */
function textOf(view: View, node: AriaNode, shownName: string): string {
  // Clickable boxes and editable elements usually have no name, only content.
  const isContainer = node.role === "generic" || (node.role === "textbox" && !node.text);
  const text = view.interactive && isContainer ? contentOf({ ...node, name: "" }) : node.text;
  return text === undefined || text === "" || text === shownName ? "" : `: ${sanitizeText(text)}`;
}

/** True for a grouping node without name, text and children, which a compact view omits. */
const isEmptyBranch = (node: AriaNode): boolean =>
  STRUCTURAL.has(node.role) && !node.name && !node.text && (node.children ?? []).length === 0;
