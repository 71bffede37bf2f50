/** From the library's tree of a page to the text that a model reads. Pure: no page is touched here. */
import { quoted, sanitized } from "./text.ts";
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
    text += value === true ? ` [${key}]` : ` [${key}=${sanitized(String(value))}]`;
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
const NOTE_CHARS = 90;

/**
 * Renders a tree. Nodes are printed whole or not at all; refs are given to what is printed only. Where something is left
 * out, a last line says so, unless `maxChars` hardly has room for anything else.
 */
export function render(roots: Roots, view: View, table: RefTable): Rendered {
  const whole = draw(roots, view, table, view.maxChars);
  if (!whole.truncated || view.maxChars < 2 * NOTE_CHARS) return whole;
  const cut = draw(roots, view, table, view.maxChars - NOTE_CHARS);
  cut.lines.push(
    `# cut here, ${cut.leftOut} more nodes: narrow it with selector, depth, interactive or compact`,
  );
  return cut;
}

type Roots = readonly (AriaNode | string)[];

function draw(roots: Roots, view: View, table: RefTable, room: number): Rendered {
  const out: Rendered = {
    lines: [],
    refs: {},
    nodes: [],
    interactive: 0,
    truncated: false,
    leftOut: 0,
  };
  const counts = new Map<string, RefInfo[]>();
  const limit = view.limit ?? Number.POSITIVE_INFINITY;
  // Of all lines joined: one break less than there are lines.
  let chars = -1;
  let printed = 0;

  function put(lines: string[]): boolean {
    const size = lines.reduce((sum, line) => sum + line.length + 1, 0);
    if (out.truncated || printed >= limit || chars + size > room) {
      out.truncated = true;
      out.leftOut += 1;
      return false;
    }
    out.lines.push(...lines);
    chars += size;
    printed += 1;
    return true;
  }

  function print(node: AriaNode, indent: string): void {
    const spelled = nameOf(node);
    // In a tree the children stand below and spell it.
    const shownName = view.interactive ? spelled : (node.name ?? "");
    const name = shownName === "" ? "" : ` ${quoted(shownName)}`;
    const role = sanitized(node.role);
    let ref = "";
    let key: string | undefined;
    // A number may be given to a node that then finds no room; that only wastes the number.
    if (node.ref !== undefined && !out.truncated) {
      key = keyOf(table.number(node.ref, node.role, spelled), view.style);
      ref = ` [ref=${key}]`;
    }
    const cursor = node.cursor === undefined ? "" : ` [cursor=${sanitized(node.cursor)}]`;
    // A clickable box and an editable one have no name as a rule, only what they hold.
    const isHolder = node.role === "generic" || (node.role === "textbox" && !node.text);
    const held = view.interactive && isHolder ? contentOf({ ...node, name: "" }) : node.text;
    const text =
      held === undefined || held === "" || held === shownName ? "" : `: ${sanitized(held)}`;
    const lines = [`${indent}- ${role}${name}${states(node)}${ref}${cursor}${text}`];
    if (view.style === "ai" || !view.compact) {
      if (node.url !== undefined) lines.push(`${indent}  - /url: ${sanitized(node.url)}`);
      if (node.placeholder !== undefined)
        lines.push(`${indent}  - /placeholder: ${sanitized(node.placeholder)}`);
    }
    if (!put(lines)) return;
    if (isInteractive(node)) out.interactive += 1;
    if (key === undefined) return;
    const info: RefInfo = {
      role: node.role,
      native: node.ref!,
      name: sanitized(spelled) || undefined,
    };
    const twins = counts.get(`${node.role}\0${spelled}`);
    if (twins === undefined) counts.set(`${node.role}\0${spelled}`, [info]);
    else twins.push(info);
    out.refs[key] = info;
    out.nodes.push({ key, node });
  }

  function walk(node: AriaNode | string, level: number, indent: string, inPointer: boolean): void {
    if (typeof node === "string") {
      if (!view.interactive) put([`${indent}- text: ${sanitized(node)}`]);
      return;
    }
    // Where grouping nodes are left out of the text, they do not count as levels either.
    const counted = !(view.compact || view.interactive) || tellsSomething(node);
    // A pointer is inherited: of a clickable box only the box itself is meant, unless a child is a control too.
    const shown = view.interactive
      ? INTERACTIVE.has(node.role)
        ? node.ref !== undefined || node.role !== "option"
        : isInteractive(node) && !inPointer
      : !view.compact || (tellsSomething(node) && !isEmptyBranch(node));
    if (shown) print(node, view.interactive ? "" : indent);
    const below = counted ? level + 1 : level;
    if (view.depth !== undefined && below > view.depth) return;
    const deeper = shown && !view.interactive ? `${indent}  ` : indent;
    for (const child of node.children ?? [])
      walk(child, below, deeper, inPointer || node.cursor === "pointer");
  }

  for (const root of roots) walk(root, 0, "", false);
  for (const twins of counts.values()) {
    if (twins.length > 1) for (const [nth, info] of twins.entries()) info.nth = nth;
  }
  if (view.interactive && out.lines.length === 0 && !out.truncated)
    out.lines.push("(no interactive elements)");
  return out;
}

/** A grouping node with neither name, text nor children: nothing a compact view would miss. */
const isEmptyBranch = (node: AriaNode): boolean =>
  STRUCTURAL.has(node.role) && !node.name && !node.text && (node.children ?? []).length === 0;
