/** Applies CSS selectors to a page. This is the only importer of css-select, css-what and nth-check. */
import { createRequire } from "node:module";
import type { PseudoSelector, Selector } from "css-what";
import type { AnyNode, Document, Element } from "domhandler";
import { errors } from "../../errors.ts";
import { CheckFailed } from "../source.ts";

/** The libraries are loaded at first use, because most gateways poll no page. */
function requireLibraries() {
  const require = createRequire(import.meta.url);
  const { compile } = require("css-select") as typeof import("css-select");
  const { isTraversal, parse } = require("css-what") as typeof import("css-what");
  const { Document, isTag } = require("domhandler") as typeof import("domhandler");
  const domutils = require("domutils") as typeof import("domutils");
  const { default: nthCheck } = require("nth-check") as typeof import("nth-check");
  return { compile, isTag, isTraversal, parse, Document, domutils, nthCheck };
}
let libraries: ReturnType<typeof requireLibraries> | undefined;
function getLibraries(): ReturnType<typeof requireLibraries> {
  libraries ??= requireLibraries();
  return libraries;
}

const isTag = (node: AnyNode): node is Element => getLibraries().isTag(node);

/**
 * The number of node accesses that a selector may make on one page. It suffices unless a selector compares all nodes
 * with all others.
 */
const LOOK_LIMITS = { any: 200_000, perNode: 100 };

/** The position of an element among its siblings, from either end: among all of them, and among those with its name. */
interface Position {
  child: number;
  lastChild: number;
  ofType: number;
  lastOfType: number;
}

/**
 * Computes the positions of all children of a parent at once. The library counts the siblings again for each element, which
 * takes quadratic time for a long list.
 */
function positionOf(cache: WeakMap<object, Map<Element, Position>>, element: Element): Position {
  const parent = element.parent ?? element;
  let positions = cache.get(parent);
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
    cache.set(parent, positions);
  }
  return positions.get(element)!;
}

/** Creates the positional pseudo-classes, which replace those of the library. */
function createPositionalPseudos() {
  const cache = new WeakMap<object, Map<Element, Position>>();
  const positionIn = (element: Element): Position => positionOf(cache, element);
  const nth = (key: keyof Position) => {
    const checks = new Map<string, (index: number) => boolean>();
    return (element: Element, formula?: string | null): boolean => {
      const text = formula ?? "";
      const check = checks.get(text) ?? getLibraries().nthCheck(text);
      checks.set(text, check);
      return check(positionIn(element)[key]);
    };
  };
  return {
    "first-child": (element: Element) => positionIn(element).child === 0,
    "last-child": (element: Element) => positionIn(element).lastChild === 0,
    "only-child": (element: Element) =>
      positionIn(element).child + positionIn(element).lastChild === 0,
    "first-of-type": (element: Element) => positionIn(element).ofType === 0,
    "last-of-type": (element: Element) => positionIn(element).lastOfType === 0,
    "only-of-type": (element: Element) =>
      positionIn(element).ofType + positionIn(element).lastOfType === 0,
    "nth-child": nth("child"),
    "nth-last-child": nth("lastChild"),
    "nth-of-type": nth("ofType"),
    "nth-last-of-type": nth("lastOfType"),
  };
}

function countNodes(page: Document): number {
  let size = 0;
  const open: AnyNode[] = [page];
  for (let node = open.pop(); node; node = open.pop()) {
    size++;
    if ("children" in node) for (const child of node.children) open.push(child);
  }
  return size;
}

/** Creates the library's adapter for the tree, which counts every access. */
function createMeteredAdapter(selector: string, page: Document) {
  let remainingLooks = LOOK_LIMITS.any + LOOK_LIMITS.perNode * countNodes(page);
  const count = (looks = 1): void => {
    remainingLooks -= looks;
    if (remainingLooks < 0)
      throw new CheckFailed(
        `The selector ${JSON.stringify(selector)} took too long on this page. Make it more specific.`,
      );
  };
  return {
    ...getLibraries().domutils,
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
      const text = getLibraries().domutils.getText(node);
      count(text.length / 10);
      return text;
    },
  };
}

/**
 * Rejects selectors that the library accepts: an empty one, one that ends with a combinator, and one with an invalid
 * formula.
 */
function checkAlternatives(alternatives: readonly Selector[][]): void {
  if (alternatives.length === 0) throw new Error("The selector is empty");
  for (const tokens of alternatives) {
    if (tokens.length === 0 || getLibraries().isTraversal(tokens.at(-1)!))
      throw new Error("The selector ends too early");
    for (const token of tokens) if (token.type === "pseudo") checkPseudo(token);
  }
}

function checkPseudo({ name, data }: PseudoSelector): void {
  if (Array.isArray(data)) checkAlternatives(data);
  else if (name.startsWith("nth-")) getLibraries().nthCheck(data ?? "");
}

/**
 * Returns a function that finds the matching elements of a page in order. Throws 400 with `param: "source.selector"`
 * for an invalid selector.
 */
export function compileSelector(selector: string): (page: Document) => Element[] {
  const matcher = (page: Document) =>
    getLibraries().compile<AnyNode, Element>(selector, {
      adapter: createMeteredAdapter(selector, page),
      pseudos: createPositionalPseudos(),
      cacheResults: true,
    });
  try {
    const alternatives = getLibraries().parse(selector);
    checkAlternatives(alternatives);
    if (alternatives.some(([first]) => first !== undefined && getLibraries().isTraversal(first)))
      throw new Error("The selector has no beginning");
    matcher(new (getLibraries().Document)([]));
  } catch (cause) {
    throw errors.badSelector(
      { selector: JSON.stringify(selector) },
      { param: "source.selector", cause },
    );
  }
  return (page) => {
    const matches = matcher(page);
    return getLibraries().domutils.find(matches, page, true, Number.POSITIVE_INFINITY) as Element[];
  };
}
