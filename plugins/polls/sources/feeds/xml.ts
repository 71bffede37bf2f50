/** Parses XML into a small tree. It tolerates common faults of senders, but not a document that is cut off. */
import { decodeHTMLStrict } from "entities";
import { Parser } from "htmlparser2";
import { TimeSlices } from "../../time-slices.ts";
import { CheckFailed } from "../source.ts";
import { vocabularyOf } from "./vocabularies.ts";

/** This is enough for any feed. A deeper document is meant to exhaust the gateway. */
const MAX_DEPTH = 64;
/** Five for each of 100,000 items, which is the largest number of items that are compared. */
const MAX_ELEMENTS = 500_000;
/** The number of characters that are parsed between two readings of the clock. */
const CHUNK_CHARS = 32 * 1024;
/** The largest number of attributes of one element. */
const MAX_ATTRIBUTES = 1_000;
const NO_ATTRIBUTES: ReadonlyMap<string, string> = new Map();

export interface XmlElement {
  /** The name without its prefix, in lower case, because some feeds use capital letters. */
  name: string;
  /** See `vocabularyOf`. */
  vocabulary: string | undefined;
  /** The attributes by their names in lower case, including prefixes. */
  attributes: ReadonlyMap<string, string>;
  children: (XmlElement | string)[];
}

/**
 * Decodes HTML's named entities, because feeds use them although XML defines only five. Entities that a document type
 * declares are not decoded. Throws `CheckFailed` if the root element does not end.
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
        const decodedAttributes = decodeAttributes(attributes);
        const scope = scopeOf(decodedAttributes, scopes.at(-1) as ReadonlyMap<string, string>);
        const element = elementOf(name, decodedAttributes, scope);
        append(element);
        open.push(element);
        scopes.push(scope);
      },
      ontext: append,
      onclosetag(_name, isImplied) {
        open.pop();
        scopes.pop();
        // An element may be closed by the end of an outer one, but if only the end of the document closes the root, it
        // is cut off.
        if (isImplied && open.length === 1) isCutOff = true;
      },
    },
    { xmlMode: true, decodeEntities: false },
  );
  const slices = new TimeSlices();
  const document = removeDoctype(text);
  for (let at = 0; at < document.length; at += CHUNK_CHARS) {
    if (slices.isOver) await slices.pause();
    parser.write(document.slice(at, at + CHUNK_CHARS));
  }
  parser.end();
  const root = top.children.find((child) => typeof child !== "string");
  if (isCutOff || root === undefined)
    throw new CheckFailed("The feed is cut off: its XML is incomplete.");
  return root;
}

/** Throws `CheckFailed` for a document with too many elements, before any of them is created. */
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

/** Returns the namespaces in the scope of an element: those of the outer elements, and those that it declares. */
function scopeOf(
  attributes: ReadonlyMap<string, string>,
  outerScope: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  let scope: Map<string, string> | undefined;
  for (const [name, value] of attributes) {
    if (name !== "xmlns" && !name.startsWith("xmlns:")) continue;
    scope ??= new Map(outerScope);
    scope.set(name.slice("xmlns:".length), value);
  }
  return scope ?? outerScope;
}

function decodeAttributes(attributes: Record<string, string>): ReadonlyMap<string, string> {
  const entries = Object.entries(attributes);
  if (entries.length === 0) return NO_ATTRIBUTES;
  return new Map(entries.map(([key, value]) => [key.toLowerCase(), decodeHTMLStrict(value)]));
}

/**
 * Removes the document type, whose entities are not supported. It precedes the root element, so similar text in a comment
 * or in CDATA is not affected.
 */
function removeDoctype(xml: string): string {
  const start = skipProlog(xml);
  if (!/^<!doctype/i.test(xml.slice(start, start + 9))) return xml;
  let depth = 0;
  for (let i = start; i < xml.length; i++) {
    const char = xml[i];
    if (char === "[") depth++;
    else if (char === "]") depth--;
    else if (char === ">" && depth <= 0) return xml.slice(0, start) + xml.slice(i + 1);
  }
  throw new CheckFailed("The feed is cut off: its DOCTYPE declaration is not closed.");
}

/**
 * Returns the index of the document type or the root element, after white space, comments and processing instructions.
 */
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

/**
 * Returns the children with a name, from the first of these vocabularies that has any. `undefined` stands for no
 * namespace.
 */
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

/** Returns all children with a name, in any vocabulary. */
export function namesakesOf(element: XmlElement, name: string): XmlElement[] {
  return element.children.filter(
    (child): child is XmlElement => typeof child !== "string" && child.name === name,
  );
}

/** Returns the text of an element and its descendants; undefined if there is none. */
export function textOf(element: XmlElement | undefined): string | undefined {
  const texts: string[] = [];
  const visit = ({ children }: XmlElement): void => {
    let pendingText = "";
    const flush = (): void => {
      if (pendingText.trim() !== "") texts.push(pendingText.trim());
      pendingText = "";
    };
    for (const child of children) {
      if (typeof child === "string") pendingText += child;
      else {
        flush();
        visit(child);
      }
    }
    flush();
  };
  if (element !== undefined) visit(element);
  return decodeHTMLStrict(texts.join(" ")).trim() || undefined;
}

export const attributeOf = (element: XmlElement | undefined, name: string): string | undefined =>
  element?.attributes.get(name.toLowerCase())?.trim() || undefined;
