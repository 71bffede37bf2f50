/** A small CSS selector for parse5's tree: tags, ids, classes, attributes, `:first-child`, `:last-child`, `:nth-child(n)`, `:not(…)`, all combinators, lists. */
import type { DefaultTreeAdapterTypes } from "parse5";
import { PorticoError } from "portico";

export type Element = DefaultTreeAdapterTypes.Element;
export type Parent = DefaultTreeAdapterTypes.ParentNode;

type Test = (element: Element) => boolean;
interface Step {
  /** How this one hangs on the one before it. */
  combinator: " " | ">" | "+" | "~";
  test: Test;
}

export const isElement = (node: unknown): node is Element =>
  typeof node === "object" && node !== null && "tagName" in node;
const elementsOf = (parent: Parent | null): Element[] => (parent?.childNodes ?? []).filter(isElement);
const attributeOf = (element: Element, name: string): string | undefined =>
  element.attrs.find((one) => one.name === name)?.value;
const siblings = (element: Element): Element[] => elementsOf(element.parentNode);
const parentOf = (element: Element): Element | undefined =>
  isElement(element.parentNode) ? element.parentNode : undefined;

const NAME = "(?:[\\w-]|[^\\x00-\\x7f]|\\\\.)+";
const PIECE = new RegExp(
  `^(?:(?<tag>\\*|${NAME})|#(?<id>${NAME})|\\.(?<class>${NAME})|\\[\\s*(?<attr>[\\w:-]+)\\s*(?:(?<op>[~|^$*]?=)\\s*(?:"(?<dq>[^"]*)"|'(?<sq>[^']*)'|(?<bare>[^\\]\\s"']+))\\s*)?\\]|:(?<pseudo>[\\w-]+)(?:\\((?<arg>[^()]*)\\))?)`,
  "u",
);

function fail(selector: string): never {
  throw new PorticoError("invalid_request_error", `The selector ${JSON.stringify(selector)} is not understood.`, {
    param: "source.selector",
  });
}

function attributeTest(name: string, op: string | undefined, wanted: string): Test {
  return (element) => {
    const value = attributeOf(element, name.toLowerCase());
    if (value === undefined) return false;
    if (op === undefined) return true;
    if (op === "=") return value === wanted;
    if (op === "~=") return value.split(/\s+/).includes(wanted);
    if (op === "|=") return value === wanted || value.startsWith(`${wanted}-`);
    if (wanted === "") return false;
    if (op === "^=") return value.startsWith(wanted);
    return op === "$=" ? value.endsWith(wanted) : value.includes(wanted);
  };
}

function pseudoTest(name: string, argument: string | undefined, selector: string): Test {
  const at = (element: Element): number => siblings(element).indexOf(element) + 1;
  if (name === "first-child") return (element) => at(element) === 1;
  if (name === "last-child") return (element) => siblings(element).at(-1) === element;
  if (name === "nth-child" && argument !== undefined) {
    if (argument.trim() === "odd" || argument.trim() === "even")
      return (element) => at(element) % 2 === (argument.trim() === "odd" ? 1 : 0);
    if (/^\s*\d+\s*$/.test(argument)) return (element) => at(element) === Number(argument);
  }
  if (name === "not" && argument !== undefined) {
    const [test, rest] = compound(argument.trim(), selector);
    if (rest === "") return (element) => !test(element);
  }
  return fail(selector);
}

/** The tests at the beginning of a text, as one, and what is left of it. */
function compound(text: string, selector: string): [Test, string] {
  const tests: Test[] = [];
  let rest = text;
  for (let match = PIECE.exec(rest); match; match = PIECE.exec(rest)) {
    const { tag, id, class: name, attr, op, dq, sq, bare, pseudo, arg } = match.groups!;
    if (tag !== undefined && tests.length > 0) break;
    if (tag !== undefined)
      tests.push(tag === "*" ? () => true : (element) => element.tagName.toLowerCase() === tag.toLowerCase());
    else if (id !== undefined) tests.push(attributeTest("id", "=", id));
    else if (name !== undefined) tests.push(attributeTest("class", "~=", name));
    else if (attr !== undefined) tests.push(attributeTest(attr, op, dq ?? sq ?? bare ?? ""));
    else tests.push(pseudoTest(pseudo!, arg, selector));
    rest = rest.slice(match[0].length);
  }
  if (tests.length === 0) fail(selector);
  return [(element) => tests.every((test) => test(element)), rest];
}

function parseOne(text: string, selector: string): Step[] {
  const steps: Step[] = [];
  let rest = text.trim();
  let combinator: Step["combinator"] = " ";
  while (rest !== "") {
    const [test, left] = compound(rest, selector);
    steps.push({ combinator, test });
    const gap = /^\s*([>+~])?\s*/.exec(left)!;
    rest = left.slice(gap[0].length);
    if (rest !== "" && gap[0] === "") fail(selector);
    if (rest === "" && gap[1] !== undefined) fail(selector);
    combinator = (gap[1] ?? " ") as Step["combinator"];
  }
  return steps.length > 0 ? steps : fail(selector);
}

/** Splits at commas that stand outside brackets and parentheses. */
function alternatives(selector: string): string[] {
  const parts = [""];
  let depth = 0;
  for (const char of selector) {
    if ("[(".includes(char)) depth++;
    if ("])".includes(char)) depth--;
    if (char === "," && depth === 0) parts.push("");
    else parts[parts.length - 1] += char;
  }
  return parts;
}

function matches(element: Element, steps: readonly Step[], at = steps.length - 1): boolean {
  const { combinator, test } = steps[at]!;
  if (!test(element)) return false;
  if (at === 0) return true;
  if (combinator === ">" || combinator === " ") {
    for (let up = parentOf(element); up; up = combinator === " " ? parentOf(up) : undefined) {
      if (matches(up, steps, at - 1)) return true;
    }
    return false;
  }
  const all = siblings(element);
  const before = all.slice(0, all.indexOf(element)).reverse();
  return (combinator === "+" ? before.slice(0, 1) : before).some((one) => matches(one, steps, at - 1));
}

/** Throws 400 with `param: "source.selector"` for what is no selector that is known here. */
export function compileSelector(selector: string): (root: Parent) => Element[] {
  const choices = alternatives(selector).map((text) => parseOne(text, selector));
  return (root) => {
    const found: Element[] = [];
    const visit = (parent: Parent): void => {
      for (const element of elementsOf(parent)) {
        if (choices.some((steps) => matches(element, steps))) found.push(element);
        visit(element);
      }
    };
    visit(root);
    return found;
  };
}
