/** From the library's tree of a page to the text that a model reads. Pure: no page is touched here. */
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
  /** Levels of nodes below the top. */
  depth?: number | undefined;
  /** Most nodes that are printed. */
  limit?: number | undefined;
  maxChars: number;
}

interface RefInfo {
  role: string;
  name?: string;
  /** Which of several with this role and name, from 0; absent where there is one. */
  nth?: number;
  /** The automation library's own name of the element. */
  native: string;
}

export interface Rendered {
  lines: string[];
  refs: Record<string, RefInfo>;
  /** The printed nodes that have a ref, in order. */
  nodes: { key: string; node: AriaNode }[];
  interactive: number;
  truncated: boolean;
  /** How many nodes were left out by `limit` or `maxChars`. */
  leftOut: number;
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

function states(node: AriaNode): string {
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

/** True for a node that a compact view shows in its own right. */
const tellsSomething = (node: AriaNode): boolean =>
  !STRUCTURAL.has(node.role) || Boolean(node.name) || Boolean(node.text) || isInteractive(node);

const keyOf = (n: number, style: View["style"]): string => (style === "ai" ? String(n) : `e${n}`);

/** What the line needs that says how much was left out. */
const NOTE_CHARS = 110;

/**
 * Renders a tree. Nodes are printed whole or not at all; refs are given to what is printed only. Where something is left
 * out, a last line says so, unless `maxChars` hardly has room for anything else.
 */
export function render(roots: Roots, view: View, table: RefTable): Rendered {
  const whole = draw(roots, view, table, view.maxChars);
  if (!whole.truncated || view.maxChars < 2 * NOTE_CHARS) return whole;
  const cut = draw(roots, view, table, view.maxChars - NOTE_CHARS);
  cut.lines.push(
    `# cut here, ${cut.leftOut} more nodes: narrow the snapshot with selector, depth, interactive or compact`,
  );
  return cut;
}

type Roots = readonly (AriaNode | string)[];

function draw(roots: Roots, view: View, table: RefTable, room: number): Rendered {
  const drawing = new Drawing(view, table, room);
  for (const root of roots) drawing.walk(root, { level: 0, indent: "", inPointer: false });
  return drawing.finish();
}

/** Where in the tree a node stands. */
interface Place {
  level: number;
  indent: string;
  /** It is inside of something clickable. */
  inPointer: boolean;
}

/** One snapshot in the making: the lines so far, and how much room is left. */
class Drawing {
  readonly #view: View;
  readonly #table: RefTable;
  readonly #room: number;
  readonly #limit: number;
  readonly #twins = new Map<string, RefInfo[]>();
  readonly #out: Rendered = {
    lines: [],
    refs: {},
    nodes: [],
    interactive: 0,
    truncated: false,
    leftOut: 0,
  };
  /** Of all lines joined: one break less than there are lines. */
  #chars = -1;
  #printed = 0;

  constructor(view: View, table: RefTable, room: number) {
    this.#view = view;
    this.#table = table;
    this.#room = room;
    this.#limit = view.limit ?? Number.POSITIVE_INFINITY;
  }

  /** Draws a node and those below it. */
  walk(node: AriaNode | string, place: Place): void {
    if (typeof node !== "string") this.#walkElement(node, place);
    else if (!this.#view.interactive) this.#put([`${place.indent}- text: ${sanitizeText(node)}`]);
  }

  #walkElement(node: AriaNode, { level, indent, inPointer }: Place): void {
    const view = this.#view;
    const isShown = shows(view, node, inPointer);
    if (isShown) this.#print(node, view.interactive ? "" : indent);
    // Where grouping nodes are left out of the text, they do not count as levels either.
    const isLevel = !(view.compact || view.interactive) || tellsSomething(node);
    const below = {
      level: isLevel ? level + 1 : level,
      indent: isShown && !view.interactive ? `${indent}  ` : indent,
      inPointer: inPointer || node.cursor === "pointer",
    };
    if (view.depth !== undefined && below.level > view.depth) return;
    for (const child of node.children ?? []) this.walk(child, below);
  }

  /** Numbers elements that share role and name, and answers the result. */
  finish(): Rendered {
    for (const twins of this.#twins.values()) {
      if (twins.length > 1) for (const [nth, info] of twins.entries()) info.nth = nth;
    }
    const out = this.#out;
    if (this.#view.interactive && out.lines.length === 0 && !out.truncated)
      out.lines.push("(no interactive elements)");
    return out;
  }

  #print(node: AriaNode, indent: string): void {
    const spelled = nameOf(node);
    const key = this.#keyFor(node, spelled);
    if (!this.#put(linesOf(this.#view, node, spelled, key, indent))) return;
    if (isInteractive(node)) this.#out.interactive += 1;
    if (key !== undefined) this.#register(node, key, spelled);
  }

  /** A number may be given to a node that then finds no room; that only wastes the number. */
  #keyFor(node: AriaNode, spelled: string): string | undefined {
    if (node.ref === undefined || this.#out.truncated) return undefined;
    return keyOf(this.#table.number(node.ref, node.role, spelled), this.#view.style);
  }

  /** Adds lines where there is room for them, and says whether there was. */
  #put(lines: string[]): boolean {
    const out = this.#out;
    const size = lines.reduce((sum, line) => sum + line.length + 1, 0);
    if (out.truncated || this.#printed >= this.#limit || this.#chars + size > this.#room) {
      out.truncated = true;
      out.leftOut += 1;
      return false;
    }
    out.lines.push(...lines);
    this.#chars += size;
    this.#printed += 1;
    return true;
  }

  #register(node: AriaNode, key: string, spelled: string): void {
    const info: RefInfo = {
      role: node.role,
      native: node.ref!,
      name: sanitizeText(spelled) || undefined,
    };
    const kind = `${node.role}\0${spelled}`;
    const twins = this.#twins.get(kind);
    if (twins === undefined) this.#twins.set(kind, [info]);
    else twins.push(info);
    this.#out.refs[key] = info;
    this.#out.nodes.push({ key, node });
  }
}

/** True for a node that has a line of its own in the view. */
function shows(view: View, node: AriaNode, inPointer: boolean): boolean {
  if (!view.interactive) return !view.compact || (tellsSomething(node) && !isEmptyBranch(node));
  if (INTERACTIVE.has(node.role)) return node.ref !== undefined || node.role !== "option";
  // A pointer is inherited: of a clickable box only the box itself is meant, unless a child is a control too.
  return isInteractive(node) && !inPointer;
}

/** The line of a node, and those of its address and placeholder. */
function linesOf(
  view: View,
  node: AriaNode,
  spelled: string,
  key: string | undefined,
  indent: string,
): string[] {
  // In a tree the children stand below and spell it.
  const shownName = view.interactive ? spelled : (node.name ?? "");
  const name = shownName === "" ? "" : ` ${quoteName(shownName)}`;
  const ref = key === undefined ? "" : ` [ref=${key}]`;
  const cursor = node.cursor === undefined ? "" : ` [cursor=${sanitizeText(node.cursor)}]`;
  const role = sanitizeText(node.role);
  const text = textOf(view, node, shownName);
  const lines = [`${indent}- ${role}${name}${states(node)}${ref}${cursor}${text}`];
  if (view.style !== "ai" && view.compact) return lines;
  if (node.url !== undefined) lines.push(`${indent}  - /url: ${sanitizeText(node.url)}`);
  if (node.placeholder !== undefined)
    lines.push(`${indent}  - /placeholder: ${sanitizeText(node.placeholder)}`);
  return lines;
}

/** What stands behind the colon of a node's line; nothing that only repeats its name. */
function textOf(view: View, node: AriaNode, shownName: string): string {
  // A clickable box and an editable one have no name as a rule, only what they hold.
  const isHolder = node.role === "generic" || (node.role === "textbox" && !node.text);
  const text = view.interactive && isHolder ? contentOf({ ...node, name: "" }) : node.text;
  return text === undefined || text === "" || text === shownName ? "" : `: ${sanitizeText(text)}`;
}

/** A grouping node with neither name, text nor children: nothing a compact view would miss. */
const isEmptyBranch = (node: AriaNode): boolean =>
  STRUCTURAL.has(node.role) && !node.name && !node.text && (node.children ?? []).length === 0;
