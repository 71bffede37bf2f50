/**
 * Changes one key in the text of a JSON5 file and leaves everything else as the user wrote it: comments, order, quotes,
 * indentation, references.
 *
 * Ours, because the libraries for it lose something: @croct/json5-parser writes what is no JSON5 after some removals and
 * refuses `'a"b'`; jju and golden-fleece move or drop comments, and read octal numbers and two keys of one name.
 */
import { isDeepStrictEqual } from "node:util";
import { PorticoError } from "../../errors.ts";
import { formatKeyPath, isRecord, type KeyPath, valueAt } from "../../text/key-path.ts";
import {
  type Entry,
  entriesOf,
  isBlank,
  type Node,
  nodeAt,
  parse,
  plainValue,
  skipSpace,
} from "./parse.ts";

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
  if (isBlank(text))
    return put(text.trim() === "" ? "{}\n" : `${text.trimEnd()}\n{}\n`, path, value, undefined);
  return put(text, path, value, meaning);
}

/** The text without the key at `path`; the same text where there is none. */
export function unsetInText(text: string, path: KeyPath): string {
  if (isBlank(text)) return text;
  const parent = nodeAt(parse(text), path.slice(0, -1));
  const index = parent ? entriesOf(parent).findIndex((entry) => entry.key === path.at(-1)) : -1;
  return parent && index !== -1 ? remove(text, parent, index) : text;
}

function put(text: string, path: KeyPath, value: unknown, meaning: unknown): string {
  const root = parse(text);
  const node = nodeAt(root, path);
  if (!node) return insert(text, root, path, value);
  const old = plainValue(node);
  if (isDeepStrictEqual(old, value) || (meaning !== undefined && isDeepStrictEqual(meaning, value)))
    return text;
  const isMap = node.type === "Object" && isRecord(value);
  if (isMap || (node.type === "Array" && Array.isArray(value))) {
    let changed = text;
    const kept: object = value;
    for (const { key } of entriesOf(node).reverse())
      if (!Object.hasOwn(kept, key)) changed = unsetInText(changed, [...path, key]);
    for (const [key, item] of Object.entries(kept)) {
      const step = isMap ? key : Number(key);
      if (item !== undefined)
        changed = put(changed, [...path, step], item, valueAt(meaning, [step]));
    }
    return changed;
  }
  const inline =
    entriesOf(node).length > 0 && !text.slice(startOf(node), endOf(node)).includes("\n");
  const written = write(
    value,
    styleOf(text, root),
    inline ? undefined : indentAt(text, startOf(node)),
  );
  return splice(text, startOf(node), endOf(node), written);
}

function insert(text: string, root: Node, path: KeyPath, value: unknown): string {
  let depth = path.length - 1;
  while (depth > 0 && !nodeAt(root, path.slice(0, depth))) depth--;
  const parent = nodeAt(root, path.slice(0, depth));
  const key = path[depth]!;
  const wanted = typeof key === "number" ? "Array" : "Object";
  if (parent?.type !== wanted) {
    const where = depth === 0 ? "The file" : formatKeyPath(path.slice(0, depth));
    throw refusal(
      `${where} is not ${wanted === "Array" ? "a list" : "an object"}: ${formatKeyPath(path)} cannot be set in it.`,
    );
  }
  const { length } = entriesOf(parent);
  if (typeof key === "number" && key !== length)
    throw refusal(
      `${formatKeyPath(path)} cannot be set: the list has ${length} entries. The next one is [${length}].`,
    );
  let whole = value;
  for (const step of path.slice(depth + 1).reverse())
    whole = typeof step === "number" ? [whole] : { [step]: whole };
  return append(text, parent, key, whole, styleOf(text, root));
}

function append(
  text: string,
  parent: Node,
  key: string | number,
  value: unknown,
  style: Style,
): string {
  const [from, to] = [startOf(parent) + 1, endOf(parent) - 1];
  const inside = text.slice(from, to);
  const last = entriesOf(parent).at(-1);
  const name = typeof key === "number" ? "" : `${writeKey(key, style)}: `;
  const comma = last && commaAfter(text, last);
  if (last && !inside.includes("\n")) {
    const item = name + write(value, style, undefined);
    return comma === undefined
      ? splice(text, endOf(last.node), endOf(last.node), `, ${item}`)
      : splice(text, comma + 1, comma + 1, ` ${item},`);
  }
  const outer = indentAt(text, from - 1);
  const indent = last ? indentAt(text, last.start) : outer + style.unit;
  const line = style.newline + indent + name + write(value, style, indent);
  if (!last)
    return splice(
      text,
      from,
      to,
      `${inside.trimEnd()}${line}${style.quoted ? "" : ","}${style.newline}${outer}`,
    );
  const behind = endOfLine(text, comma === undefined ? endOf(last.node) : comma + 1, to);
  const added = splice(text, behind, behind, line + (comma === undefined ? "" : ","));
  return comma === undefined ? splice(added, endOf(last.node), endOf(last.node), ",") : added;
}

function remove(text: string, parent: Node, index: number): string {
  const entries = entriesOf(parent);
  const entry = entries[index]!;
  const comma = commaAfter(text, entry);
  const valueEnd = comma === undefined ? endOf(entry.node) : comma + 1;
  const lineEnd = endOfLine(text, valueEnd, endOf(parent) - 1);
  // The comma before the last entry goes with it where the user writes none behind the last.
  const before =
    index === entries.length - 1 && index > 0 ? commaAfter(text, entries[index - 1]!) : undefined;
  let changed: string;
  if (
    onOwnLine(text, entry) &&
    /^\r?\n/.test(text.slice(lineEnd)) &&
    lineStart(text, entry.start) > startOf(parent)
  )
    changed = splice(text, lineStart(text, entry.start), text.indexOf("\n", lineEnd) + 1, "");
  else if (before !== undefined) changed = splice(text, before + 1, valueEnd, "");
  else
    changed = splice(
      text,
      entry.start,
      valueEnd + /^[ \t]*/.exec(text.slice(valueEnd))![0].length,
      "",
    );
  return before !== undefined && comma === undefined
    ? splice(changed, before, before + 1, "")
    : changed;
}

const startOf = (node: Node) => node.loc.start.offset;
const endOf = (node: Node) => node.loc.end.offset;

function commaAfter(text: string, { node }: Entry): number | undefined {
  const at = skipSpace(text, endOf(node));
  return text[at] === "," ? at : undefined;
}

const refusal = (message: string): PorticoError =>
  new PorticoError("invalid_request_error", message);

// Where the line ends on which something ends, comments behind it included; never beyond `limit`.
function endOfLine(text: string, from: number, limit: number): number {
  const space = text.slice(from, Math.min(skipSpace(text, from), limit));
  const behind = /^(?:[ \t]|\/\*(?:(?!\*\/)[^\n])*\*\/)*(?:\/\/[^\r\n]*)?/.exec(space)![0];
  return from + behind.trimEnd().length;
}

function styleOf(text: string, root: Node): Style {
  const [first] = entriesOf(root);
  const indent = first && onOwnLine(text, first) ? indentAt(text, first.start) : "";
  return {
    newline: text.includes("\r\n") ? "\r\n" : "\n",
    unit: indent || "  ",
    quoted: first === undefined || text[first.start] === '"',
  };
}

const lineStart = (text: string, offset: number): number => text.lastIndexOf("\n", offset - 1) + 1;

const onOwnLine = (text: string, { start }: Entry): boolean =>
  text.slice(lineStart(text, start), start).trim() === "";

const indentAt = (text: string, offset: number): string =>
  /^[ \t]*/.exec(text.slice(lineStart(text, offset)))![0];

const writeKey = (key: string, { quoted }: Style): string =>
  !quoted && IDENTIFIER.test(key) ? key : JSON.stringify(key);

/** On several lines from `indent` on; on one line without it. */
function write(value: unknown, style: Style, indent: string | undefined): string {
  if (typeof value === "number" && !Number.isFinite(value))
    throw refusal("NaN and Infinity cannot be stored.");
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const items = Array.isArray(value)
    ? value.map((item) => ["", item] as const)
    : Object.entries(value).flatMap(([key, item]) =>
        item === undefined ? [] : [[`${writeKey(key, style)}: `, item] as const],
      );
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (items.length === 0) return open + close;
  const short =
    Array.isArray(value) && value.every((item) => typeof item !== "object" || item === null);
  if (indent === undefined || short) {
    const padding = Array.isArray(value) ? "" : " ";
    return (
      open +
      padding +
      items.map(([key, item]) => key + write(item, style, undefined)).join(", ") +
      padding +
      close
    );
  }
  const inner = indent + style.unit;
  const lines = items.map(([key, item]) => inner + key + write(item, style, inner));
  return [open, lines.join(`,${style.newline}`) + (style.quoted ? "" : ","), indent + close].join(
    style.newline,
  );
}

const splice = (text: string, start: number, end: number, put: string): string =>
  text.slice(0, start) + put + text.slice(end);
