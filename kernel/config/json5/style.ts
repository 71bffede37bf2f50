/** Detects the style of a JSON5 file, and writes values in that style. */
import { errors } from "../errors.ts";
import { listEntries, type Entry, type Node } from "./parse.ts";

const IDENTIFIER = /^[$_\p{ID_Start}][$\p{ID_Continue}]*$/u;

export interface Style {
  newline: string;
  /** One level of indentation. */
  unit: string;
  /** Keys are in quotes, so the file is (or may be) plain JSON. */
  quoted: boolean;
}

export function detectStyle(text: string, root: Node): Style {
  const [first] = listEntries(root);
  const indent = first && isOnOwnLine(text, first) ? readIndent(text, first.start) : "";
  return {
    newline: text.includes("\r\n") ? "\r\n" : "\n",
    unit: indent || "  ",
    quoted: first === undefined || text[first.start] === '"',
  };
}

export const findLineStart = (text: string, offset: number): number =>
  text.lastIndexOf("\n", offset - 1) + 1;

export function isOnOwnLine(text: string, { start }: Entry): boolean {
  return text.slice(findLineStart(text, start), start).trim() === "";
}

/** Returns the white space at the beginning of the line. */
export function readIndent(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(findLineStart(text, offset)))?.[0] ?? "";
}

export function writeKey(key: string, { quoted }: Style): string {
  return !quoted && IDENTIFIER.test(key) ? key : JSON.stringify(key);
}

/** Writes a value on several lines, in a line with the indentation `indent`; on one line if `indent` is undefined. */
export function writeValue(value: unknown, style: Style, indent: string | undefined): string {
  if (typeof value === "number" && !Number.isFinite(value)) throw errors.numberNotStorable();
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const isList = Array.isArray(value);
  const items = isList ? listItems(value) : memberItems(value, style);
  const [open, close] = isList ? ["[", "]"] : ["{", "}"];
  if (items.length === 0) return open + close;
  if (indent === undefined || (isList && value.every(isScalar))) {
    const inside = items.map(({ name, item }) => name + writeValue(item, style, undefined));
    const padding = isList ? "" : " ";
    return open + padding + inside.join(", ") + padding + close;
  }
  const inner = indent + style.unit;
  const lines = items.map(({ name, item }) => inner + name + writeValue(item, style, inner));
  const lastComma = style.quoted ? "" : ",";
  return [open, lines.join(`,${style.newline}`) + lastComma, indent + close].join(style.newline);
}

interface Item {
  /** The key with its colon; empty in a list. */
  name: string;
  item: unknown;
}

const listItems = (list: readonly unknown[]): Item[] => list.map((item) => ({ name: "", item }));

/** Omits undefined members, as JSON does. */
function memberItems(value: object, style: Style): Item[] {
  return Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .map(([key, item]) => ({ name: `${writeKey(key, style)}: `, item }));
}

const isScalar = (value: unknown): boolean => typeof value !== "object" || value === null;
