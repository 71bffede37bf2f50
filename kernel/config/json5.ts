/**
 * JSON5 (https://spec.json5.org) as nodes that know where they stand in the text, for errors, validation messages and
 * edits that keep comments. The only importer of momoa, which takes a little more than JSON5 and says little about a
 * fault: what it lets pass is refused here, and its faults are told in words.
 */
import { evaluate, parse as parseJson5, tokenize, type ValueNode } from "@humanwhocodes/momoa";

export type Node = ValueNode;

/** A member of an object or an item of an array. */
export interface Entry {
  /** The member's key, or the item's position. */
  key: string | number;
  /** Where the key (or the item) begins. */
  start: number;
  line: number;
  node: Node;
}

/** The text is not JSON5. `line` and `column` count from 1. */
export class SyntaxFault extends Error {
  readonly line: number;
  readonly column: number;
  constructor(message: string, text: string, offset: number) {
    super(message);
    const lines = text.slice(0, offset).split("\n");
    this.line = lines.length;
    this.column = (lines.at(-1) as string).length + 1;
  }
}

/** Throws `SyntaxFault`. A key that is given twice in one object is a fault too: one of them would be lost in silence. */
export function parse(text: string): Node {
  checkLexemes(text);
  let root: Node;
  try {
    root = parseJson5(text, { mode: "json5" }).body;
  } catch (error) {
    if (error instanceof RangeError) throw new SyntaxFault("this is nested too deeply", text, 0);
    const { offset, message } = error as Error & { offset: number };
    throw faultAt(text, message.includes("end of input") ? text.length : offset);
  }
  checkValues(root, text, 0);
  return root;
}

/** The plain value of a node. */
export const plainValue: (node: Node) => unknown = evaluate;

export function entriesOf(node: Node): Entry[] {
  if (node.type === "Array") return node.elements.map(({ value }, key) => ({ key, ...placeOf(value), node: value }));
  if (node.type !== "Object") return [];
  return node.members.map(({ name, value }) => ({
    key: name.type === "String" ? name.value : name.name,
    ...placeOf(name),
    node: value,
  }));
}

function placeOf({ loc }: Pick<Node, "loc">): { start: number; line: number } {
  return { start: loc.start.offset, line: loc.start.line };
}

/** The node at a path, or undefined. */
export function nodeAt(root: Node, path: readonly (string | number)[]): Node | undefined {
  let node: Node | undefined = root;
  for (const step of path) node = node && entriesOf(node).find((entry) => entry.key === step)?.node;
  return node;
}

const SPACE = /(?:[\s\uFEFF]|\/\/[^\n\r\u2028\u2029]*|\/\*[\s\S]*?\*\/)*/y;

/** Where the next thing that is neither white space nor a comment begins. */
export function skipSpace(text: string, at: number): number {
  SPACE.lastIndex = at;
  SPACE.exec(text);
  return SPACE.lastIndex;
}

/** True where a text says nothing: it is empty, or holds only comments. */
export function isBlank(text: string): boolean {
  return skipSpace(text, 0) >= text.length;
}

const LEXEME =
  /\/\/[^\n\r\u2028\u2029]*|\/\*(?:[\s\S]*?\*\/)?|"(?:\\(?:\r\n|[\s\S])|[^"\\\r\n])*"?|'(?:\\(?:\r\n|[\s\S])|[^'\\\r\n])*'?/g;
const BAD_ESCAPE = /\\(?:([1-9]|0\d)|(x)(?![\da-f]{2})|(u)(?![\da-f]{4})|[\s\S])/gi;

/** Comments and strings: momoa lets a string run on over the end of its line. */
function checkLexemes(text: string): void {
  for (const { 0: lexeme, index } of text.matchAll(LEXEME)) {
    if (lexeme === "/*") throw new SyntaxFault("this comment is never closed", text, index);
    if (lexeme.startsWith("/")) continue;
    if (lexeme.length === 1 || !lexeme.endsWith(lexeme[0] as string))
      throw new SyntaxFault("this string is never closed", text, index);
    for (const { 1: octal, 2: x, 3: u, index: at } of lexeme.matchAll(BAD_ESCAPE)) {
      if (octal) throw new SyntaxFault("an octal escape is not allowed", text, index + at);
      if (x ?? u) throw new SyntaxFault(`\\${x ?? u} needs ${x ? 2 : 4} hexadecimal digits`, text, index + at);
    }
  }
}

const MAX_DEPTH = 200;

function checkValues(node: Node, text: string, depth: number): void {
  if (depth > MAX_DEPTH) throw new SyntaxFault("this is nested too deeply", text, placeOf(node).start);
  if (node.type === "Number" && Number.isNaN(node.value))
    throw new SyntaxFault("this is not a number", text, placeOf(node).start);
  const keys = new Set<string | number>();
  for (const { key, start, node: below } of entriesOf(node)) {
    if (keys.has(key)) throw new SyntaxFault(`"${key}" is given twice in one object`, text, start);
    keys.add(key);
    checkValues(below, text, depth + 1);
  }
}

const wordsIn = (text: string) =>
  tokenize(text, { mode: "json5" })
    .filter(({ type }) => !type.endsWith("Comment"))
    .map(({ loc }) => loc.start.offset);

/** Says in words what was expected where momoa stopped: what stands before it tells. */
function faultAt(text: string, offset: number): SyntaxFault {
  const fault = (message: string, at = offset) => new SyntaxFault(message, text, at);
  const rest = text.slice(offset);
  const found = rest === "" ? "the end of the file" : JSON.stringify(String.fromCodePoint(rest.codePointAt(0)!));
  const open: number[] = [];
  let [before, last] = [-1, -1];
  try {
    for (const start of wordsIn(text.slice(0, offset))) {
      if (/[{[]/.test(text[start]!)) open.push(start);
      if (/[}\]]/.test(text[start]!)) open.pop();
      [before, last] = [last, start];
    }
  } catch {
    return fault(`this is not understood: ${found}`); // in the middle of a word
  }
  const inside = text[open.at(-1) ?? -1];
  const isNext = text[last] === "," || text[last] === inside;
  if (isCutOff(rest) && inside) {
    const unclosed = /^[{[]/.test(rest) ? offset : open.at(-1)!;
    return fault(`the ${text[unclosed]} that opens here is never closed`, unclosed);
  }
  if (!inside && last >= 0) return fault(`expected the end of the file, found ${found}`);
  if (inside === "{" && isNext) return fault(`expected a key or }, found ${found}`);
  if (inside === "{" && /[,{]/.test(text[before]!) && text[last] !== ":")
    return fault(
      `expected : after the key "${text
        .slice(last, offset)
        .trim()
        .replace(/^["']|["']$/g, "")}", found ${found}`,
    );
  if (last >= 0 && text[last] !== ":" && !isNext)
    return fault(`expected , or ${inside === "{" ? "}" : "]"}, found ${found}`);
  // the one thing of JSON5 that momoa does not take
  if (/^[-+]\./.test(rest)) return fault(`write a digit before the point: ${rest[0]}0.…`);
  if (/^[-+.\d]/.test(rest)) return fault("this is not a number");
  const word = /^[$\p{ID_Start}][$\p{ID_Continue}]*/u.exec(rest)?.[0];
  return fault(word ? `"${word}" is not a value; put text in quotes` : `expected a value, found ${found}`);
}

/** momoa stops at the last word of a text that ends too early. */
function isCutOff(rest: string): boolean {
  try {
    return !/^[}\]]/.test(rest) && wordsIn(rest).length < 2;
  } catch {
    return false;
  }
}
