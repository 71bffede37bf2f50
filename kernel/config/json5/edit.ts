/**
 * Changes one key in the text of a JSON5 file and leaves everything else as the user wrote it: comments, order, quotes,
 * indentation, references.
 *
 * This is our own code, because the available libraries lose something: @croct/json5-parser writes invalid JSON5 after
 * some removals and refuses `'a"b'`; jju and golden-fleece move or drop comments, and accept octal numbers and
 * duplicate keys.
 */
import { isDeepStrictEqual } from "node:util";
import { formatKeyPath, isRecord, type KeyPath, valueAt } from "../../text/key-path.ts";
import { errors } from "../errors.ts";
import {
  type Entry,
  listEntries,
  isBlank,
  type Node,
  findNode,
  parse,
  plainValue,
  skipSpace,
} from "./parse.ts";
import {
  readIndent,
  isOnOwnLine,
  findLineStart,
  type Style,
  detectStyle,
  writeKey,
  writeValue,
} from "./style.ts";

/**
 * Returns the text with `value` at `path`. Creates missing objects on the path; an object replaces an object member by
 * member. If `meaning` (the old values with references expanded) equals the new value, the old text stays.
 */
export function setInText(text: string, path: KeyPath, value: unknown, meaning?: unknown): string {
  if (!isBlank(text)) return setValue(text, path, value, meaning);
  const comments = text.trimEnd();
  return setValue(comments === "" ? "{}\n" : `${comments}\n{}\n`, path, value, undefined);
}

/** Returns the text without the key at `path`; the same text if there is no such key. */
export function unsetInText(text: string, path: KeyPath): string {
  if (isBlank(text)) return text;
  const parent = findNode(parse(text), path.slice(0, -1));
  if (!parent) return text;
  const index = listEntries(parent).findIndex((entry) => entry.key === path.at(-1));
  return index === -1 ? text : remove(text, parent, index);
}

function setValue(text: string, path: KeyPath, value: unknown, meaning: unknown): string {
  const root = parse(text);
  const node = findNode(root, path);
  if (!node) return insert(text, root, path, value);
  if (isDeepStrictEqual(plainValue(node), value)) return text;
  if (meaning !== undefined && isDeepStrictEqual(meaning, value)) return text;
  if (node.type === "Object" && isRecord(value)) return setEntries(text, path, value, meaning);
  if (node.type === "Array" && Array.isArray(value)) return setEntries(text, path, value, meaning);
  return replace(text, root, node, value);
}

/**
 * Writes the entries of an object or a list. Undefined entries keep their text, and entries that `value` does not have
 * are removed.
 */
function setEntries(
  text: string,
  path: KeyPath,
  value: Record<string, unknown> | readonly unknown[],
  meaning: unknown,
): string {
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  let changed = removeOthers(text, path, value);
  for (const [key, entry] of entries) {
    if (entry === undefined) continue;
    changed = setValue(changed, [...path, key], entry, valueAt(meaning, [key]));
  }
  return changed;
}

/** Removes the entries that `value` does not have, from the last to the first, so that earlier positions stay valid. */
function removeOthers(text: string, path: KeyPath, value: object): string {
  const node = findNode(parse(text), path);
  const removedEntries = node
    ? listEntries(node).filter(({ key }) => !Object.hasOwn(value, key))
    : [];
  return removedEntries
    .reverse()
    .reduce((rest, { key }) => unsetInText(rest, [...path, key]), text);
}

/** Replaces a value. A value that was on one line stays on one line. */
function replace(text: string, root: Node, node: Node, value: unknown): string {
  const [start, end] = [getStart(node), getEnd(node)];
  const isInline = listEntries(node).length > 0 && !text.slice(start, end).includes("\n");
  const indent = isInline ? undefined : readIndent(text, start);
  return splice(text, start, end, writeValue(value, detectStyle(text, root), indent));
}

function insert(text: string, root: Node, path: KeyPath, value: unknown): string {
  let depth = path.length - 1;
  while (depth > 0 && !findNode(root, path.slice(0, depth))) depth -= 1;
  const parent = findNode(root, path.slice(0, depth));
  const key = path[depth];
  if (!parent || key === undefined) throw errors.emptyPath();
  refuseMisplaced(parent, path, depth);
  const nestedValue = path
    .slice(depth + 1)
    .reduceRight<unknown>(
      (inner, step) => (typeof step === "number" ? [inner] : { [step]: inner }),
      value,
    );
  return append(text, parent, key, nestedValue, detectStyle(text, root));
}

/** A list accepts only its next position, an object accepts names. */
function refuseMisplaced(parent: Node, path: KeyPath, depth: number): void {
  const key = path[depth];
  const requiredType = typeof key === "number" ? "Array" : "Object";
  if (parent.type !== requiredType) {
    throw errors.wrongContainer({
      path: formatKeyPath(path),
      parent: depth === 0 ? "the file" : formatKeyPath(path.slice(0, depth)),
      kind: requiredType === "Array" ? "a list" : "an object",
    });
  }
  const { length } = listEntries(parent);
  if (typeof key === "number" && key !== length)
    throw errors.beyondEnd({ path: formatKeyPath(path), length });
}

function append(
  text: string,
  parent: Node,
  key: string | number,
  value: unknown,
  style: Style,
): string {
  const name = typeof key === "number" ? "" : `${writeKey(key, style)}: `;
  const last = listEntries(parent).at(-1);
  if (!last) return appendFirst(text, parent, name, value, style);
  const inside = text.slice(getStart(parent) + 1, getEnd(parent) - 1);
  return inside.includes("\n")
    ? appendLine(text, parent, last, name, value, style)
    : appendInline(text, last, name + writeValue(value, style, undefined));
}

function appendFirst(
  text: string,
  parent: Node,
  name: string,
  value: unknown,
  style: Style,
): string {
  const [from, to] = [getStart(parent) + 1, getEnd(parent) - 1];
  const outer = readIndent(text, from - 1);
  const indent = outer + style.unit;
  const line = style.newline + indent + name + writeValue(value, style, indent);
  const comma = style.quoted ? "" : ",";
  const existingText = text.slice(from, to).trimEnd();
  return splice(text, from, to, existingText + line + comma + style.newline + outer);
}

/** Appends an entry to the last one's line. If there was a trailing comma, there is one again. */
function appendInline(text: string, last: Entry, item: string): string {
  const comma = findComma(text, last);
  if (comma !== undefined) return splice(text, comma + 1, comma + 1, ` ${item},`);
  return splice(text, getEnd(last.node), getEnd(last.node), `, ${item}`);
}

function appendLine(
  text: string,
  parent: Node,
  last: Entry,
  name: string,
  value: unknown,
  style: Style,
): string {
  const comma = findComma(text, last);
  const indent = readIndent(text, last.start);
  const line = style.newline + indent + name + writeValue(value, style, indent);
  const end = comma === undefined ? getEnd(last.node) : comma + 1;
  const lineEnd = findLineEnd(text, end, getEnd(parent) - 1);
  if (comma !== undefined) return splice(text, lineEnd, lineEnd, `${line},`);
  const added = splice(text, lineEnd, lineEnd, line);
  return splice(added, getEnd(last.node), getEnd(last.node), ",");
}

function remove(text: string, parent: Node, index: number): string {
  const entries = listEntries(parent);
  const entry = entries[index] as Entry;
  const comma = findComma(text, entry);
  // The comma before the last entry is removed with it, unless the user writes trailing commas.
  const isLast = index === entries.length - 1 && index > 0;
  const commaBefore = isLast ? findComma(text, entries[index - 1] as Entry) : undefined;
  const changed = removeEntry(text, parent, entry, comma, commaBefore);
  return commaBefore !== undefined && comma === undefined
    ? splice(changed, commaBefore, commaBefore + 1, "")
    : changed;
}

function removeEntry(
  text: string,
  parent: Node,
  entry: Entry,
  comma: number | undefined,
  commaBefore: number | undefined,
): string {
  const end = comma === undefined ? getEnd(entry.node) : comma + 1;
  const lineEnd = findLineEnd(text, end, getEnd(parent) - 1);
  const start = findLineStart(text, entry.start);
  const hasOwnLines =
    isOnOwnLine(text, entry) && /^\r?\n/.test(text.slice(lineEnd)) && start > getStart(parent);
  if (hasOwnLines) return splice(text, start, text.indexOf("\n", lineEnd) + 1, "");
  if (commaBefore !== undefined) return splice(text, commaBefore + 1, end, "");
  const space = /^[ \t]*/.exec(text.slice(end))?.[0] ?? "";
  return splice(text, entry.start, end + space.length, "");
}

const getStart = (node: Node): number => node.loc.start.offset;
const getEnd = (node: Node): number => node.loc.end.offset;

function findComma(text: string, { node }: Entry): number | undefined {
  const at = skipSpace(text, getEnd(node));
  return text[at] === "," ? at : undefined;
}

/** Returns the end of the line from a position, including comments after it, but not beyond `limit`. */
function findLineEnd(text: string, from: number, limit: number): number {
  const space = text.slice(from, Math.min(skipSpace(text, from), limit));
  const comments = /^(?:[ \t]|\/\*(?:(?!\*\/)[^\n])*\*\/)*(?:\/\/[^\r\n]*)?/.exec(space)?.[0] ?? "";
  return from + comments.trimEnd().length;
}

const splice = (text: string, start: number, end: number, replacement: string): string =>
  text.slice(0, start) + replacement + text.slice(end);
