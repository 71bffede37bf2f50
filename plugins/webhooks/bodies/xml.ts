/**
 * Parses XML into an object for mappings: `<order id="7"><line>a</line><line>b</line></order>` becomes
 * `{order: {"@id": "7", line: ["a", "b"]}}`. Values are texts; a text next to attributes or elements is `#text`. It decodes
 * only the five entities of XML and numeric character references, and refuses document types.
 */
import { Parser } from "htmlparser2";
import { type BodyLimits, limitError, type PorticoError } from "portico";
import { errors } from "../errors.ts";

type Value = string | Fields | Value[];
interface Fields {
  [name: string]: Value;
}

interface OpenElement {
  fields: Map<string, Value>;
  texts: string[];
}

/** Throws `invalid_request_error` if an element is not closed, if there is not exactly one root, or for exceeded limits. */
export function readXml(text: string, limits: BodyLimits): unknown {
  const top: OpenElement = { fields: new Map(), texts: [] };
  const openElements = [top];
  let isEmpty = false;
  let values = 0;
  let attributesOfElement = 0;
  const countValue = (): void => {
    values++;
    if (values > limits.maxValues) throw limitError("maxValues", limits);
  };
  const parser = new Parser(
    {
      onopentagname() {
        attributesOfElement = 0;
        countValue();
        if (openElements.length > limits.maxDepth) throw limitError("maxDepth", limits);
      },
      onattribute() {
        attributesOfElement++;
        countValue();
        if (attributesOfElement > limits.maxMembers) throw limitError("maxMembers", limits);
      },
      onopentag(_name, attributes) {
        const fields = Object.entries(attributes).map(
          ([name, value]) => [`@${name}`, value] as const,
        );
        openElements.push({ fields: new Map(fields), texts: [] });
        isEmpty = true;
      },
      onprocessinginstruction(name) {
        if (name.toLowerCase() === "!doctype")
          throw xmlError("has a document type, which is not accepted");
      },
      ontext(chunk) {
        openElements.at(-1)!.texts.push(chunk);
        isEmpty = false;
      },
      onclosetag(name, isImplied) {
        const closesItself =
          isEmpty && text.slice(parser.endIndex - 1, parser.endIndex + 1) === "/>";
        isEmpty = false;
        if (isImplied && !closesItself) throw xmlError(`does not close <${name.slice(0, 100)}>`);
        const { fields } = openElements.at(-2)!;
        addValue(fields, name, toValue(openElements.pop()!));
        if (fields.size > limits.maxMembers) throw limitError("maxMembers", limits);
      },
    },
    { xmlMode: true },
  );
  parser.end(text);
  if (openElements.length > 1) throw xmlError("ends before all elements are closed");
  if (top.fields.size !== 1 || top.texts.join("").trim() !== "")
    throw xmlError("must contain exactly one element");
  return Object.fromEntries(top.fields);
}

function toValue({ fields, texts }: OpenElement): Value {
  const text = texts.join("").trim();
  if (fields.size === 0) return text;
  if (text !== "") fields.set("#text", text);
  return Object.fromEntries(fields);
}

function addValue(fields: Map<string, Value>, name: string, value: Value): void {
  if (name === "__proto__") return;
  const existing = fields.get(name);
  if (Array.isArray(existing)) existing.push(value);
  else fields.set(name, existing === undefined ? value : [existing, value]);
}

function xmlError(why: string): PorticoError {
  return errors.unreadableXml({ problem: why });
}
