/** XML as a small tree, forgiving of what senders get wrong but not of a document that is cut off. */
import { decodeHTMLStrict } from "entities";
import { Parser } from "htmlparser2";
import { TimeSlices } from "../../time-slices.ts";
import { CheckFailed } from "../source.ts";
import { vocabularyOf } from "./vocabularies.ts";

/** Enough for any feed; what is deeper was made to exhaust us. */
const MAX_DEPTH = 64;
/** Five for each of 100,000 items, which is as many as are compared. */
const MAX_ELEMENTS = 500_000;
/** What is parsed between two looks at the clock. */
const CHUNK_CHARS = 32 * 1024;
/** Of one element. */
const MAX_ATTRIBUTES = 1_000;
const NO_ATTRIBUTES: ReadonlyMap<string, string> = new Map();

export interface XmlElement {
  /** Without its prefix, in lower case: some feeds shout. */
  name: string;
  /** See `vocabularyOf`. */
  vocabulary: string | undefined;
  /** By their names in lower case, prefixes included. */
  attributes: ReadonlyMap<string, string>;
  children: (XmlElement | string)[];
}

/**
 * Named entities of HTML are decoded, as feeds use them though XML knows only five; those that a document type declares
 * are not. Throws `CheckFailed` where the root does not end.
 */
export async function parseXml(text: string): Promise<XmlElement> {
  checkElementCount(text);
  const top: XmlElement = {
    name: "",
    vocabulary: undefined,
    attributes: new Map(),
    children: [],
  };
  const open = [top];
  /** The namespaces in scope, by prefix, one map for each open element. */
  const scopes: ReadonlyMap<string, string>[] = [new Map()];
  let isCutOff = false;
  let attributeCount = 0;
  const append = (child: XmlElement | string): void => void open.at(-1)!.children.push(child);
  const parser = new Parser(
    {
      onopentagname() {
        attributeCount = 0;
      },
      onattribute() {
        attributeCount++;
        if (attributeCount > MAX_ATTRIBUTES)
          throw new CheckFailed(
            `The feed has an element with more than ${MAX_ATTRIBUTES} attributes.`,
          );
      },
      onopentag(name, attributes) {
        if (open.length > MAX_DEPTH) throw new CheckFailed("The feed is nested too deeply.");
        const decoded = decodedAttributes(attributes);
        const scope = scopeOf(decoded, scopes.at(-1) as ReadonlyMap<string, string>);
        const element = elementOf(name, decoded, scope);
        append(element);
        open.push(element);
        scopes.push(scope);
      },
      ontext: append,
      onclosetag(_name, isImplied) {
        open.pop();
        scopes.pop();
        // An element that another's end closes is sloppy; a root that only the document's end closes is half a document.
        if (isImplied && open.length === 1) isCutOff = true;
      },
    },
    { xmlMode: true, decodeEntities: false },
  );
  const slices = new TimeSlices();
  const document = withoutDoctype(text);
  for (let at = 0; at < document.length; at += CHUNK_CHARS) {
    if (slices.isOver) await slices.pause();
    parser.write(document.slice(at, at + CHUNK_CHARS));
  }
  parser.end();
  const root = top.children.find((child) => typeof child !== "string");
  if (isCutOff || root === undefined)
    throw new CheckFailed("The feed is cut off: its XML does not end.");
  return root;
}

/** Throws `CheckFailed` for more elements than a feed may have, before one of them is made. */
function checkElementCount(text: string): void {
  let elements = 0;
  for (let at = text.indexOf("<"); at !== -1; at = text.indexOf("<", at + 1)) {
    if (text[at + 1] === "/") continue;
    elements++;
    if (elements > MAX_ELEMENTS)
      throw new CheckFailed(`The feed has more than ${MAX_ELEMENTS} elements.`);
  }
}

function elementOf(
  qualifiedName: string,
  attributes: ReadonlyMap<string, string>,
  scope: ReadonlyMap<string, string>,
): XmlElement {
  const colon = qualifiedName.indexOf(":");
  const prefix = qualifiedName.slice(0, Math.max(0, colon)).toLowerCase();
  return {
    name: qualifiedName.slice(colon + 1).toLowerCase(),
    vocabulary: vocabularyOf(scope.get(prefix), prefix),
    attributes,
    children: [],
  };
}

/** The namespaces in scope of an element: those around it, and those that it declares. */
function scopeOf(
  attributes: ReadonlyMap<string, string>,
  around: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  let scope: Map<string, string> | undefined;
  for (const [name, value] of attributes) {
    if (name !== "xmlns" && !name.startsWith("xmlns:")) continue;
    scope ??= new Map(around);
    scope.set(name.slice("xmlns:".length), value);
  }
  return scope ?? around;
}

function decodedAttributes(attributes: Record<string, string>): ReadonlyMap<string, string> {
  const entries = Object.entries(attributes);
  if (entries.length === 0) return NO_ATTRIBUTES;
  return new Map(entries.map(([key, value]) => [key.toLowerCase(), decodeHTMLStrict(value)]));
}

/**
 * The document without its type, whose entities are not read. The type stands in front of the root: what looks like one
 * in a comment or in CDATA is text.
 */
function withoutDoctype(xml: string): string {
  const start = skipProlog(xml);
  if (!/^<!doctype/i.test(xml.slice(start, start + 9))) return xml;
  let depth = 0;
  for (let i = start; i < xml.length; i++) {
    const char = xml[i];
    if (char === "[") depth++;
    else if (char === "]") depth--;
    else if (char === ">" && depth <= 0) return xml.slice(0, start) + xml.slice(i + 1);
  }
  throw new CheckFailed("The feed is cut off: its document type does not end.");
}

/** Where the document type or the root begins, behind white space, comments and processing instructions. */
function skipProlog(xml: string): number {
  let at = 0;
  for (;;) {
    while (/\s/.test(xml.charAt(at))) at++;
    const end = endOfMarkup(xml, at);
    if (end === undefined) return at;
    at = end;
  }
}

function endOfMarkup(xml: string, at: number): number | undefined {
  for (const [opening, closing] of [
    ["<!--", "-->"],
    ["<?", "?>"],
  ] as const) {
    if (!xml.startsWith(opening, at)) continue;
    const end = xml.indexOf(closing, at + opening.length);
    return end < 0 ? undefined : end + closing.length;
  }
  return undefined;
}

/** The children of a name, of the first of these vocabularies that has any; `undefined`: without a namespace. */
export function childrenOf(
  element: XmlElement | undefined,
  name: string,
  ...vocabularies: (string | undefined)[]
): XmlElement[] {
  const elements = (element?.children ?? []).filter((child) => typeof child !== "string");
  const namesakes = elements.filter((child) => child.name === name);
  for (const vocabulary of vocabularies) {
    const children = namesakes.filter((child) => child.vocabulary === vocabulary);
    if (children.length > 0) return children;
  }
  return [];
}

/** All children of a name, whatever their vocabulary. */
export function namesakesOf(element: XmlElement, name: string): XmlElement[] {
  return element.children.filter(
    (child): child is XmlElement => typeof child !== "string" && child.name === name,
  );
}

/** The text of an element and its descendants; `undefined` where there is none. */
export function textOf(element: XmlElement | undefined): string | undefined {
  const texts: string[] = [];
  const visit = ({ children }: XmlElement): void => {
    let own = "";
    const end = (): void => {
      if (own.trim() !== "") texts.push(own.trim());
      own = "";
    };
    for (const child of children) {
      if (typeof child === "string") own += child;
      else {
        end();
        visit(child);
      }
    }
    end();
  };
  if (element !== undefined) visit(element);
  return decodeHTMLStrict(texts.join(" ")).trim() || undefined;
}

export const attributeOf = (element: XmlElement | undefined, name: string): string | undefined =>
  element?.attributes.get(name.toLowerCase())?.trim() || undefined;
