/** CSS selectors on a page; the only importer of css-select, css-what and nth-check. */
import { createRequire } from "node:module";
import type { PseudoSelector, Selector } from "css-what";
import type { AnyNode, Document, Element } from "domhandler";
import { errors } from "../../errors.ts";
import { CheckFailed } from "../source.ts";

/** Loaded at first use: most gateways poll no page. */
function load() {
  const require = createRequire(import.meta.url);
  const { compile } = require("css-select") as typeof import("css-select");
  const { isTraversal, parse } = require("css-what") as typeof import("css-what");
  const { Document, isTag } = require("domhandler") as typeof import("domhandler");
  const domutils = require("domutils") as typeof import("domutils");
  const { default: nthCheck } = require("nth-check") as typeof import("nth-check");
  return { compile, isTag, isTraversal, parse, Document, domutils, nthCheck };
}
let loaded: ReturnType<typeof load> | undefined;
function library(): ReturnType<typeof load> {
  loaded ??= load();
  return loaded;
}

const isTag = (node: AnyNode): node is Element => library().isTag(node);

/** What a selector may do on one page, in looks at a node: enough for any that does not compare all with all. */
const LOOKS = { any: 200_000, perNode: 100 };

/** The position of an element among its siblings, from either end: of all of them, and of those of its name. */
interface Position {
  child: number;
  lastChild: number;
  ofType: number;
  lastOfType: number;
}

/**
 * Computed once for all children of a parent: the library counts the siblings again for each element, which takes a long
 * list the square of its length.
 */
function positionsIn(known: WeakMap<object, Map<Element, Position>>, element: Element): Position {
  const parent = element.parent ?? element;
  let positions = known.get(parent);
  if (positions === undefined) {
    const siblings = (element.parent?.children ?? [element]).filter((node) => isTag(node));
    const counts = new Map<string, number>();
    positions = new Map();
    for (const [child, sibling] of siblings.entries()) {
      const ofType = counts.get(sibling.name) ?? 0;
      counts.set(sibling.name, ofType + 1);
      positions.set(sibling, {
        child,
        lastChild: siblings.length - 1 - child,
        ofType,
        lastOfType: 0,
      });
    }
    for (const [sibling, position] of positions)
      position.lastOfType = counts.get(sibling.name)! - 1 - position.ofType;
    known.set(parent, positions);
  }
  return positions.get(element)!;
}

/** The positional pseudo-classes, in the place of the library's. */
function positional() {
  const known = new WeakMap<object, Map<Element, Position>>();
  const at = (element: Element): Position => positionsIn(known, element);
  const nth = (key: keyof Position) => {
    const checks = new Map<string, (index: number) => boolean>();
    return (element: Element, formula?: string | null): boolean => {
      const text = formula ?? "";
      const check = checks.get(text) ?? library().nthCheck(text);
      checks.set(text, check);
      return check(at(element)[key]);
    };
  };
  return {
    "first-child": (element: Element) => at(element).child === 0,
    "last-child": (element: Element) => at(element).lastChild === 0,
    "only-child": (element: Element) => at(element).child + at(element).lastChild === 0,
    "first-of-type": (element: Element) => at(element).ofType === 0,
    "last-of-type": (element: Element) => at(element).lastOfType === 0,
    "only-of-type": (element: Element) => at(element).ofType + at(element).lastOfType === 0,
    "nth-child": nth("child"),
    "nth-last-child": nth("lastChild"),
    "nth-of-type": nth("ofType"),
    "nth-last-of-type": nth("lastOfType"),
  };
}

function sizeOf(page: Document): number {
  let size = 0;
  const open: AnyNode[] = [page];
  for (let node = open.pop(); node; node = open.pop()) {
    size++;
    if ("children" in node) for (const child of node.children) open.push(child);
  }
  return size;
}

/** The tree as the library sees it, with every look counted. */
function metered(selector: string, page: Document) {
  let left = LOOKS.any + LOOKS.perNode * sizeOf(page);
  const count = (more = 1): void => {
    left -= more;
    if (left < 0)
      throw new CheckFailed(
        `The selector ${JSON.stringify(selector)} took too long on this page. Make it more specific.`,
      );
  };
  return {
    ...library().domutils,
    isTag: (node: AnyNode): node is Element => {
      count();
      return isTag(node);
    },
    equals: (a: AnyNode, b: AnyNode): boolean => {
      count();
      return a === b;
    },
    getParent: (element: Element) => {
      count();
      return element.parent;
    },
    getText: (node: AnyNode): string => {
      const text = library().domutils.getText(node);
      count(text.length / 10);
      return text;
    },
  };
}

/** What the library lets pass: nothing at all, a combinator with nothing beside it, and (until it meets an element) a wrong formula. */
function check(alternatives: readonly Selector[][]): void {
  if (alternatives.length === 0) throw new Error("It is empty");
  for (const tokens of alternatives) {
    if (tokens.length === 0 || library().isTraversal(tokens.at(-1)!))
      throw new Error("It ends too early");
    for (const token of tokens) if (token.type === "pseudo") checkPseudo(token);
  }
}

function checkPseudo({ name, data }: PseudoSelector): void {
  if (Array.isArray(data)) check(data);
  else if (name.startsWith("nth-")) library().nthCheck(data ?? "");
}

/** Answers the elements of a page in their order. Throws 400 with `param: "source.selector"` for what is no selector. */
export function compileSelector(selector: string): (page: Document) => Element[] {
  const matcher = (page: Document) =>
    library().compile<AnyNode, Element>(selector, {
      adapter: metered(selector, page),
      pseudos: positional(),
      cacheResults: true,
    });
  try {
    const alternatives = library().parse(selector);
    check(alternatives);
    if (alternatives.some(([first]) => first !== undefined && library().isTraversal(first)))
      throw new Error("It has no beginning");
    matcher(new (library().Document)([]));
  } catch (cause) {
    throw errors.badSelector(
      { selector: JSON.stringify(selector) },
      { param: "source.selector", cause },
    );
  }
  return (page) => {
    const matches = matcher(page);
    return library().domutils.find(matches, page, true, Number.POSITIVE_INFINITY) as Element[];
  };
}
