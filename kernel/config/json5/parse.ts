/**
 * Parses JSON5 (https://spec.json5.org) to nodes with positions, for errors, validation messages and edits that keep
 * comments. This is the only importer of momoa, which accepts slightly more than JSON5 and describes faults briefly:
 * this module refuses the excess, and describes each fault in words.
 */
import { evaluate, parse as parseJson5, type ValueNode } from "@humanwhocodes/momoa";

export type Node = ValueNode;

/** A member of an object or an item of an array. */
export interface Entry {
  /** The member's key, or the item's position. */
  key: string | number;
  /** The offset at which the key (or the item) begins. */
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

/**
 * Parses a text. Throws `SyntaxFault`, also for a key that occurs twice in one object, because one of the values would
 * be lost silently.
 */
export function parse(text: string): Node {
  const lexemes = splitLexemes(text);
  const signs = findSigns(lexemes);
  let root: Node;
  try {
    root = parseJson5(blankSigns(text, signs), { mode: "json5" }).body;
  } catch (error) {
    if (error instanceof RangeError) throw new SyntaxFault("this is nested too deeply", text, 0);
    throw createFault(text, (error as Error & { offset: number }).offset, lexemes);
  }
  restoreSigns(root, text, signs);
  checkValues(root, text, 0);
  return root;
}

/** Returns the positions of the signs in `+.5` and `-.5`: momoa accepts only `.5`. */
function findSigns(lexemes: readonly Lexeme[]): Set<number> {
  return new Set(lexemes.filter(({ word }) => /^[-+]\.\d/.test(word)).map(({ at }) => at));
}

function blankSigns(text: string, signs: ReadonlySet<number>): string {
  let result = text;
  for (const at of signs) result = `${result.slice(0, at)} ${result.slice(at + 1)}`;
  return result;
}

/** Restores the signs directly before numbers. */
function restoreSigns(node: Node, text: string, signs: ReadonlySet<number>): void {
  if (signs.size === 0) return;
  const { start } = node.loc;
  if (node.type === "Number" && signs.has(start.offset - 1)) {
    if (text[start.offset - 1] === "-") node.value = -node.value;
    start.offset -= 1;
    start.column -= 1;
  }
  for (const { node: child } of listEntries(node)) restoreSigns(child, text, signs);
}

/** Returns the plain value of a node. */
export const plainValue: (node: Node) => unknown = evaluate;

export function listEntries(node: Node): Entry[] {
  if (node.type === "Array")
    return node.elements.map(({ value }, key) => ({ key, ...getPosition(value), node: value }));
  if (node.type !== "Object") return [];
  return node.members.map(({ name, value }) => ({
    key: name.type === "String" ? name.value : name.name,
    ...getPosition(name),
    node: value,
  }));
}

function getPosition({ loc }: Pick<Node, "loc">): { start: number; line: number } {
  return { start: loc.start.offset, line: loc.start.line };
}

/** Returns the node at a path, or undefined. */
export function findNode(root: Node, path: readonly (string | number)[]): Node | undefined {
  let node: Node | undefined = root;
  for (const step of path)
    node = node && listEntries(node).find((entry) => entry.key === step)?.node;
  return node;
}

const SPACE = /(?:[\s\uFEFF]|\/\/[^\n\r\u2028\u2029]*|\/\*[\s\S]*?\*\/)*/y;

/** Returns the next offset that is neither in white space nor in a comment. */
export function skipSpace(text: string, at: number): number {
  SPACE.lastIndex = at;
  SPACE.exec(text);
  return SPACE.lastIndex;
}

/** Whether a text has no value: it is empty, or contains only comments. */
export const isBlank = (text: string): boolean => skipSpace(text, 0) >= text.length;

const LEXEME =
  /\/\/[^\n\r\u2028\u2029]*|\/\*(?:[\s\S]*?\*\/)?|"(?:\\(?:\r\n|[\s\S])|[^"\\\r\n])*"?|'(?:\\(?:\r\n|[\s\S])|[^'\\\r\n])*'?|[{}[\],:]|[^\s\uFEFF{}[\],:"'/]+/g;
const BAD_ESCAPE = /\\(?:([1-9]|0\d)|(x)(?![\da-f]{2})|(u)(?![\da-f]{4})|[\s\S])/gi;

interface Lexeme {
  word: string;
  at: number;
}

/**
 * Splits a text into words, strings and punctuation, without comments. Refuses strings that continue over the end of
 * their line, which momoa accepts.
 */
function splitLexemes(text: string): Lexeme[] {
  const lexemes: Lexeme[] = [];
  for (const { 0: word, index: at } of text.matchAll(LEXEME)) {
    if (word === "/*") throw new SyntaxFault("this comment is never closed", text, at);
    if (word.startsWith("/")) continue;
    lexemes.push({ word, at });
    if (word.startsWith('"') || word.startsWith("'")) checkString(word, text, at);
  }
  const open = openBrackets(lexemes).at(-1);
  if (open)
    throw new SyntaxFault(`the ${open.word} that opens here is never closed`, text, open.at);
  return lexemes;
}

/** Throws for a string that does not end on its line, and for an escape that JSON5 does not define. */
function checkString(word: string, text: string, at: number): void {
  if (word.length === 1 || word.at(-1) !== word[0])
    throw new SyntaxFault("this string is never closed", text, at);
  for (const { 1: octal, 2: x, 3: u, index } of word.matchAll(BAD_ESCAPE)) {
    if (octal) throw new SyntaxFault("an octal escape is not allowed", text, at + index);
    const digits = x ? 2 : 4;
    if (x ?? u)
      throw new SyntaxFault(`\\${x ?? u} needs ${digits} hexadecimal digits`, text, at + index);
  }
}

/** Returns the brackets that are open at the end, outermost first. */
function openBrackets(lexemes: readonly Lexeme[]): Lexeme[] {
  const open: Lexeme[] = [];
  for (const lexeme of lexemes) {
    if (lexeme.word === "{" || lexeme.word === "[") open.push(lexeme);
    else if (lexeme.word === "}" || lexeme.word === "]") open.pop();
  }
  return open;
}

/** Describes what was expected where momoa stopped, by the words before it. */
function createFault(text: string, offset: number, lexemes: readonly Lexeme[]): SyntaxFault {
  const fault = (message: string) => new SyntaxFault(message, text, offset);
  const preceding = lexemes.filter(({ at }) => at < offset);
  const [before, last] = [preceding.at(-2)?.word ?? "", preceding.at(-1)?.word];
  const openBracket = openBrackets(preceding).at(-1)?.word;
  const expected = expectedAfter(before, last, openBracket);
  return fault(
    expected === undefined
      ? describeValue(text.slice(offset))
      : `expected ${expected}, found ${firstCharacter(text.slice(offset))}`,
  );
}

/** Returns what must follow two words within a bracket; undefined if that is a value. */
function expectedAfter(
  before: string,
  last: string | undefined,
  inside: string | undefined,
): string | undefined {
  if (last === undefined) return undefined;
  if (inside === undefined) return "the end of the file";
  const isNext = last === "," || last === inside;
  if (inside === "[") return isNext || last === ":" ? undefined : ", or ]";
  if (isNext) return "a key or }";
  if (last === ":") return undefined;
  const isKey = before === "," || before === "{";
  return isKey ? `":" after the key "${last.replace(/^["']|["']$/g, "")}"` : ", or }";
}

function firstCharacter(rest: string): string {
  if (rest === "") return "the end of the file";
  return JSON.stringify(String.fromCodePoint(rest.codePointAt(0)!));
}

/** Describes why the text does not begin with a value. */
function describeValue(rest: string): string {
  if (/^[-+.\d]/.test(rest)) return "this is not a number";
  const word = /^[$\p{ID_Start}][$\p{ID_Continue}]*/u.exec(rest)?.[0];
  return word
    ? `"${word}" is not a value; put text in quotes`
    : `expected a value, found ${firstCharacter(rest)}`;
}

const MAX_DEPTH = 200;

/**
 * Turns a whole number that a double cannot hold into the text of its digits: it is an id, which must not become
 * another one. A schema that requires a number refuses the text.
 */
function keepDigits(node: Node, text: string): void {
  if (node.type !== "Number" || Number.isSafeInteger(node.value)) return;
  const source = text.slice(node.loc.start.offset, node.loc.end.offset);
  if (/^-?\d+$/.test(source)) Object.assign(node, { type: "String", value: source });
}

function checkValues(node: Node, text: string, depth: number): void {
  const fault = (message: string, at = getPosition(node).start) =>
    new SyntaxFault(message, text, at);
  if (depth > MAX_DEPTH) throw fault("this is nested too deeply");
  if (node.type === "Number" && Number.isNaN(node.value)) throw fault("this is not a number");
  keepDigits(node, text);
  const keys = new Set<string | number>();
  for (const { key, start, node: child } of listEntries(node)) {
    if (keys.has(key)) throw fault(`"${key}" occurs twice in one object`, start);
    keys.add(key);
    checkValues(child, text, depth + 1);
  }
}
