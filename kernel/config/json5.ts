/**
 * Reads JSON5 (https://spec.json5.org) into nodes that know where they stand in the text: errors, validation messages
 * and edits that keep comments all need the place, which the `json5` package does not give for values.
 */

/** Offsets are in UTF-16 units; `end` is exclusive. */
export interface ScalarNode {
  kind: "scalar";
  start: number;
  end: number;
  value: string | number | boolean | null;
}
export interface ContainerNode {
  kind: "object" | "array";
  start: number;
  end: number;
  entries: Entry[];
}
export type Node = ScalarNode | ContainerNode;

/** A member of an object or an item of an array. */
export interface Entry {
  /** The member's key, or the item's position. */
  key: string | number;
  /** Where the key (or the item) begins. */
  start: number;
  quoted: boolean;
  node: Node;
  /** Where the comma behind it stands, if there is one. */
  comma: number | undefined;
}

/** The text is not JSON5. `line` and `column` count from 1. */
export class SyntaxFault extends Error {
  readonly line: number;
  readonly column: number;
  constructor(message: string, text: string, offset: number) {
    super(message);
    const place = placeOf(text, offset);
    this.line = place.line;
    this.column = place.column;
  }
}

/** Line and column (from 1) of an offset. */
export function placeOf(text: string, offset: number): { line: number; column: number } {
  let line = 1;
  let start = 0;
  for (let at = text.indexOf("\n"); at !== -1 && at < offset; at = text.indexOf("\n", at + 1)) {
    line++;
    start = at + 1;
  }
  return { line, column: offset - start + 1 };
}

/** The node at a path, or undefined. */
export function nodeAt(root: Node, path: readonly (string | number)[]): Node | undefined {
  let node: Node | undefined = root;
  for (const step of path) {
    if (node === undefined || node.kind === "scalar") return undefined;
    node = node.entries.find((entry) => entry.key === step)?.node;
  }
  return node;
}

/** The plain value of a node. */
export function plainValue(node: Node): unknown {
  if (node.kind === "scalar") return node.value;
  if (node.kind === "array") return node.entries.map((entry) => plainValue(entry.node));
  const object: Record<string, unknown> = {};
  for (const { key, node: child } of node.entries) {
    // An assignment to `__proto__` would set the prototype.
    Object.defineProperty(object, key, {
      value: plainValue(child),
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  return object;
}

const SPACE = /(?:[\s\uFEFF]|\/\/[^\n\r\u2028\u2029]*|\/\*[\s\S]*?\*\/)*/y;
const NUMBER = /[+-]?(?:Infinity|NaN|0[xX][0-9a-fA-F]+|(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)/y;
const NAME = /(?:[$_\p{ID_Start}]|\\u[0-9a-fA-F]{4})(?:[$\p{ID_Continue}]|\u200c|\u200d|\\u[0-9a-fA-F]{4})*/uy;
const ESCAPES: Record<string, string> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v", "0": "\0" };
const WORDS: Record<string, boolean | null> = { true: true, false: false, null: null };
const MAX_DEPTH = 200;

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

/** Throws `SyntaxFault`. A key that is given twice in one object is a fault too: one of them would be lost in silence. */
export function parse(text: string): Node {
  let at = 0;

  const fail = (message: string, offset = at): never => {
    throw new SyntaxFault(message, text, offset);
  };
  const seen = () =>
    at >= text.length ? "the end of the file" : JSON.stringify(String.fromCodePoint(text.codePointAt(at)!));
  const space = () => {
    at = skipSpace(text, at);
    if (text.startsWith("/*", at)) fail("this comment is never closed");
  };
  const match = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found) at += found.length;
    return found || undefined;
  };

  const string = (): string => {
    const quote = text[at];
    const start = at++;
    let value = "";
    for (;;) {
      const char = text[at];
      if (char === undefined || char === "\n" || char === "\r") fail("this string is never closed", start);
      at++;
      if (char === quote) return value;
      value += char === "\\" ? escaped() : char;
    }
  };
  const escaped = (): string => {
    const char = text[at++] ?? "";
    if (char === "x" || char === "u") {
      const digits = text.slice(at, at + (char === "x" ? 2 : 4));
      if (!/^(?:[0-9a-fA-F]{2}|[0-9a-fA-F]{4})$/.test(digits) || digits.length !== (char === "x" ? 2 : 4))
        fail(`\\${char} needs ${char === "x" ? 2 : 4} hexadecimal digits`, at - 2);
      at += digits.length;
      return String.fromCharCode(Number.parseInt(digits, 16));
    }
    if (char === "\r" && text[at] === "\n") at++;
    if (char === "\n" || char === "\r" || char === "\u2028" || char === "\u2029") return "";
    if ((char >= "1" && char <= "9") || (char === "0" && /\d/.test(text[at] ?? "")))
      fail("an octal escape is not allowed", at - 2);
    return ESCAPES[char] ?? char;
  };

  const number = (): number => {
    const start = at;
    const digits = match(NUMBER);
    if (digits === undefined || /[$_\p{ID_Continue}.]/u.test(text[at] ?? "")) fail("this is not a number", start);
    const unsigned = digits!.replace(/^[+-]/, "");
    return digits!.startsWith("-") ? -Number(unsigned) : Number(unsigned);
  };

  const scalar = (): ScalarNode => {
    const start = at;
    const char = text[at] ?? "";
    let value: ScalarNode["value"];
    if (char === '"' || char === "'") value = string();
    else if (/[-+.\dIN]/.test(char)) value = number();
    else {
      const word = match(NAME);
      if (word === undefined) fail(`expected a value, found ${seen()}`);
      if (!Object.hasOwn(WORDS, word!)) fail(`"${word}" is not a value; put text in quotes`, start);
      value = WORDS[word!]!;
    }
    return { kind: "scalar", start, end: at, value };
  };

  const key = (): string => {
    if (text[at] === '"' || text[at] === "'") return string();
    const name = match(NAME);
    if (name === undefined) fail(`expected a key or }, found ${seen()}`);
    return name!.replace(/\\u([0-9a-fA-F]{4})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  };

  const container = (depth: number): ContainerNode => {
    const start = at;
    const kind = text[at++] === "{" ? "object" : "array";
    const close = kind === "object" ? "}" : "]";
    const entries: Entry[] = [];
    const keys = new Set<string>();
    if (depth > MAX_DEPTH) fail("this is nested too deeply", start);
    for (;;) {
      space();
      if (text[at] === close) break;
      if (text[at] === undefined) fail(`the ${text[start]} that opens here is never closed`, start);
      const entry: Entry = {
        key: entries.length,
        start: at,
        quoted: text[at] === '"' || text[at] === "'",
        node: undefined as never,
        comma: undefined,
      };
      if (kind === "object") {
        const name = key();
        if (keys.has(name)) fail(`"${name}" is given twice in one object`, entry.start);
        keys.add(name);
        entry.key = name;
        space();
        if (text[at] !== ":") fail(`expected : after the key "${name}", found ${seen()}`);
        at++;
        space();
      }
      entry.node = node(depth + 1);
      entries.push(entry);
      space();
      if (text[at] === ",") entry.comma = at++;
      else if (text[at] !== close && text[at] !== undefined) fail(`expected , or ${close}, found ${seen()}`);
    }
    at++;
    return { kind, start, end: at, entries };
  };

  const node = (depth: number): Node => (text[at] === "{" || text[at] === "[" ? container(depth) : scalar());

  space();
  const root = node(0);
  space();
  if (at < text.length) fail(`expected the end of the file, found ${seen()}`);
  return root;
}
