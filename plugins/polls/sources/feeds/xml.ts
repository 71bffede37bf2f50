/** XML as a small tree, forgiving of what senders get wrong but not of a document that is cut off. */
import { decodeHTMLStrict } from "entities";
import { Parser } from "htmlparser2";
import { TimeSlices } from "../../time-slices.ts";
import { CheckFailed } from "../source.ts";

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
  /** With its prefix, as it stands there. */
  name: string;
  attributes: ReadonlyMap<string, string>;
  children: (XmlElement | string)[];
}

/**
 * Named entities of HTML are decoded, as feeds use them though XML knows only five; those that a document type declares
 * are not. Throws `CheckFailed` where the root does not end.
 */
export async function parseXml(text: string): Promise<XmlElement> {
  checkElementCount(text);
  const top: XmlElement = { name: "", attributes: new Map(), children: [] };
  const open = [top];
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
        const element: XmlElement = {
          name,
          attributes: decodedAttributes(attributes),
          children: [],
        };
        append(element);
        open.push(element);
      },
      ontext: append,
      onclosetag(_name, isImplied) {
        open.pop();
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

function decodedAttributes(attributes: Record<string, string>): ReadonlyMap<string, string> {
  const entries = Object.entries(attributes);
  if (entries.length === 0) return NO_ATTRIBUTES;
  return new Map(entries.map(([key, value]) => [key, decodeHTMLStrict(value)]));
}

/** Without the document type: what it declares (entities above all) is not to be had. */
function withoutDoctype(xml: string): string {
  const at = xml.slice(0, 20_000).search(/<!DOCTYPE/i);
  if (at < 0) return xml;
  let depth = 0;
  for (let i = at; i < xml.length; i++) {
    const char = xml[i];
    if (char === "[") depth++;
    else if (char === "]") depth--;
    else if (char === ">" && depth <= 0) return xml.slice(0, at) + xml.slice(i + 1);
  }
  throw new CheckFailed("The feed is cut off: its document type does not end.");
}

/** The children of a name, without a prefix or with one of those given. */
export function childrenOf(
  element: XmlElement | undefined,
  name: string,
  ...prefixes: string[]
): XmlElement[] {
  const named = (full: string): XmlElement[] =>
    (element?.children ?? []).filter(
      (child) => typeof child !== "string" && child.name === full,
    ) as XmlElement[];
  for (const prefix of ["", ...prefixes]) {
    const found = named(`${prefix}${name}`);
    if (found.length > 0) return found;
  }
  return [];
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
  element?.attributes.get(name)?.trim() || undefined;
