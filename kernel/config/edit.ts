/**
 * Changes one key in the text of a JSON5 file and leaves everything else as the user wrote it: comments, order, quotes,
 * indentation, references.
 */
import { isDeepStrictEqual } from "node:util";
import { PorticoError } from "../errors.ts";
import { formatKeyPath, isRecord, type KeyPath } from "../text/key-path.ts";
import { type ContainerNode, type Entry, isBlank, type Node, nodeAt, parse, skipSpace, plainValue } from "./json5.ts";

const IDENTIFIER = /^[$_\p{ID_Start}][$\p{ID_Continue}]*$/u;

/** How the file is written; new text follows it. */
interface Style {
  newline: string;
  unit: string;
  /** Keys stand in quotes: it is (or may be) plain JSON. */
  quoted: boolean;
}

/**
 * The text with `value` at `path`. Objects on the way are made; an object replaces an object member by member.
 * Where `meaning` (the old values with references expanded) equals the new value, the old text stays.
 */
export function setInText(text: string, path: KeyPath, value: unknown, meaning?: unknown): string {
  if (isBlank(text)) return put(text.trim() === "" ? "{}\n" : `${text.trimEnd()}\n{}\n`, path, value, undefined);
  return put(text, path, value, meaning);
}

/** The text without the key at `path`; the same text where there is none. */
export function unsetInText(text: string, path: KeyPath): string {
  if (isBlank(text)) return text;
  const parent = nodeAt(parse(text), path.slice(0, -1));
  if (!parent || parent.kind === "scalar") return text;
  const index = parent.entries.findIndex((entry) => entry.key === path.at(-1));
  return index === -1 ? text : remove(text, parent, index);
}

function put(text: string, path: KeyPath, value: unknown, meaning: unknown): string {
  const root = parse(text);
  const node = nodeAt(root, path);
  if (!node) return insert(text, root, path, value);
  const old = plainValue(node);
  if (isDeepStrictEqual(old, value) || (meaning !== undefined && isDeepStrictEqual(meaning, value))) return text;
  if (node.kind === "object" && isRecord(value)) {
    let changed = text;
    for (const key of Object.keys(old as object))
      if (!Object.hasOwn(value, key)) changed = unsetInText(changed, [...path, key]);
    for (const [key, item] of Object.entries(value)) {
      if (item !== undefined)
        changed = put(changed, [...path, key], item, isRecord(meaning) ? meaning[key] : undefined);
    }
    return changed;
  }
  if (node.kind === "array" && Array.isArray(value)) {
    let changed = text;
    for (let i = node.entries.length - 1; i >= value.length; i--) changed = unsetInText(changed, [...path, i]);
    for (const [i, item] of value.entries())
      changed = put(changed, [...path, i], item, Array.isArray(meaning) ? meaning[i] : undefined);
    return changed;
  }
  const style = styleOf(text, root);
  const inline = !text.slice(node.start, node.end).includes("\n") && node.kind !== "scalar" && node.entries.length > 0;
  return splice(text, node.start, node.end, write(value, style, inline ? undefined : indentAt(text, node.start)));
}

function insert(text: string, root: Node, path: KeyPath, value: unknown): string {
  let depth = path.length - 1;
  while (depth > 0 && !nodeAt(root, path.slice(0, depth))) depth--;
  const parent = nodeAt(root, path.slice(0, depth));
  const key = path[depth]!;
  const wanted = typeof key === "number" ? "array" : "object";
  if (!parent || parent.kind !== wanted) {
    const where = depth === 0 ? "The file" : formatKeyPath(path.slice(0, depth));
    throw new PorticoError(
      "invalid_request_error",
      `${where} is not ${wanted === "array" ? "a list" : "an object"}: ${formatKeyPath(path)} cannot be set in it.`,
    );
  }
  if (typeof key === "number" && key !== parent.entries.length) {
    throw new PorticoError(
      "invalid_request_error",
      `${formatKeyPath(path)} cannot be set: the list has ${parent.entries.length} entries. The next one is [${parent.entries.length}].`,
    );
  }
  let whole = value;
  for (const step of path.slice(depth + 1).reverse()) whole = typeof step === "number" ? [whole] : { [step]: whole };
  return append(text, parent, key, whole, styleOf(text, root));
}

function append(text: string, parent: ContainerNode, key: string | number, value: unknown, style: Style): string {
  const inside = text.slice(parent.start + 1, parent.end - 1);
  const last = parent.entries.at(-1);
  const name = typeof key === "number" ? "" : `${writeKey(key, style)}: `;
  if (last && !inside.includes("\n")) {
    const item = name + write(value, style, undefined);
    if (last.comma === undefined) return splice(text, last.node.end, last.node.end, `, ${item}`);
    return splice(text, last.comma + 1, last.comma + 1, ` ${item},`);
  }
  const outer = indentAt(text, parent.start);
  const indent = last ? indentAt(text, last.start) : outer + style.unit;
  const line = style.newline + indent + name + write(value, style, indent);
  if (!last) {
    const kept = inside.trimEnd();
    return splice(
      text,
      parent.start + 1,
      parent.end - 1,
      `${kept}${line}${style.quoted ? "" : ","}${style.newline}${outer}`,
    );
  }
  const behind = endOfLine(text, last.comma === undefined ? last.node.end : last.comma + 1, parent.end - 1);
  const added = splice(text, behind, behind, line + (last.comma === undefined ? "" : ","));
  return last.comma === undefined ? splice(added, last.node.end, last.node.end, ",") : added;
}

function remove(text: string, parent: ContainerNode, index: number): string {
  const entry = parent.entries[index]!;
  const before = parent.entries[index - 1];
  const isLast = index === parent.entries.length - 1;
  const valueEnd = entry.comma === undefined ? entry.node.end : entry.comma + 1;
  const lineStart = text.lastIndexOf("\n", entry.start - 1) + 1;
  const lineEnd = endOfLine(text, valueEnd, parent.end - 1);
  const aloneOnLine =
    text.slice(lineStart, entry.start).trim() === "" && lineStart > parent.start && /^\r?\n/.test(text.slice(lineEnd));
  let changed: string;
  if (aloneOnLine) changed = splice(text, lineStart, text.indexOf("\n", lineEnd) + 1, "");
  else if (isLast && before) changed = splice(text, before.comma! + 1, valueEnd, "");
  else changed = splice(text, entry.start, valueEnd + /^[ \t]*/.exec(text.slice(valueEnd))![0].length, "");
  // Without the last entry, the comma before it would be left over where the user writes none.
  if (isLast && before && entry.comma === undefined) changed = splice(changed, before.comma!, before.comma! + 1, "");
  return changed;
}

// Where the line ends on which something ends, comments behind it included; never beyond `limit`.
function endOfLine(text: string, from: number, limit: number): number {
  const space = text.slice(from, Math.min(skipSpace(text, from), limit));
  const behind = /^(?:[ \t]|\/\*(?:(?!\*\/)[^\n])*\*\/)*(?:\/\/[^\r\n]*)?/.exec(space)![0];
  return from + behind.trimEnd().length;
}

function styleOf(text: string, root: Node): Style {
  const first = root.kind === "scalar" ? undefined : root.entries[0];
  const indent = first && indentAt(text, first.start);
  return {
    newline: text.includes("\r\n") ? "\r\n" : "\n",
    unit: indent && onOwnLine(text, first) ? indent : "  ",
    quoted: first === undefined || (first.quoted && text[first.start] === '"'),
  };
}

function onOwnLine(text: string, entry: Entry): boolean {
  return text.slice(text.lastIndexOf("\n", entry.start - 1) + 1, entry.start).trim() === "";
}

function indentAt(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(text.lastIndexOf("\n", offset - 1) + 1))![0];
}

function writeKey(key: string, style: Style): string {
  return !style.quoted && IDENTIFIER.test(key) ? key : JSON.stringify(key);
}

/** On several lines from `indent` on; on one line without it. */
function write(value: unknown, style: Style, indent: string | undefined): string {
  if (typeof value === "number" && !Number.isFinite(value))
    throw new PorticoError("invalid_request_error", "NaN and Infinity cannot be stored.");
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const items = Array.isArray(value)
    ? value.map((item) => ["", item] as const)
    : Object.entries(value).flatMap(([key, item]) =>
        item === undefined ? [] : [[`${writeKey(key, style)}: `, item] as const],
      );
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (items.length === 0) return open + close;
  const short = Array.isArray(value) && value.every((item) => typeof item !== "object" || item === null);
  if (indent === undefined || short) {
    const padding = Array.isArray(value) ? "" : " ";
    return (
      open + padding + items.map(([key, item]) => key + write(item, style, undefined)).join(", ") + padding + close
    );
  }
  const inner = indent + style.unit;
  const lines = items.map(([key, item]) => inner + key + write(item, style, inner));
  return [open, lines.join(`,${style.newline}`) + (style.quoted ? "" : ","), indent + close].join(style.newline);
}

function splice(text: string, start: number, end: number, put: string): string {
  return text.slice(0, start) + put + text.slice(end);
}
