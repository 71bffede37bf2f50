/**
 * XML as an object, as mappings look at it: `<order id="7"><line>a</line><line>b</line></order>` is
 * `{order: {"@id": "7", line: ["a", "b"]}}`. Values are texts; beside attributes or elements a text is `#text`. Only the
 * five entities of XML and characters by number are decoded: what a document type declares is not to be had.
 */
import { Parser } from "htmlparser2";
import { type BodyLimits, limitError, type PorticoError } from "portico";
import { errors } from "../errors.ts";

type Value = string | Fields | Value[];
interface Fields {
  [name: string]: Value;
}

interface Open {
  fields: Map<string, Value>;
  texts: string[];
}

/** Throws `invalid_request_error` where an element is not closed, the text holds none, or it breaks the limits. */
export function readXml(text: string, limits: BodyLimits): unknown {
  const top: Open = { fields: new Map(), texts: [] };
  const open = [top];
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
        if (open.length > limits.maxDepth) throw limitError("maxDepth", limits);
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
        open.push({ fields: new Map(fields), texts: [] });
        isEmpty = true;
      },
      onprocessinginstruction(name) {
        if (name.toLowerCase() === "!doctype")
          throw wrong("has a document type, which is not accepted");
      },
      ontext(piece) {
        open.at(-1)!.texts.push(piece);
        isEmpty = false;
      },
      onclosetag(name, isImplied) {
        const closesItself =
          isEmpty && text.slice(parser.endIndex - 1, parser.endIndex + 1) === "/>";
        isEmpty = false;
        if (isImplied && !closesItself) throw wrong(`does not close <${name.slice(0, 100)}>`);
        const { fields } = open.at(-2)!;
        add(fields, name, contentOf(open.pop()!));
        if (fields.size > limits.maxMembers) throw limitError("maxMembers", limits);
      },
    },
    { xmlMode: true },
  );
  parser.end(text);
  if (open.length > 1) throw wrong("does not end");
  if (top.fields.size !== 1 || top.texts.join("").trim() !== "")
    throw wrong("must contain exactly one element");
  return Object.fromEntries(top.fields);
}

function contentOf({ fields, texts }: Open): Value {
  const text = texts.join("").trim();
  if (fields.size === 0) return text;
  if (text !== "") fields.set("#text", text);
  return Object.fromEntries(fields);
}

function add(fields: Map<string, Value>, name: string, value: Value): void {
  if (name === "__proto__") return;
  const known = fields.get(name);
  if (Array.isArray(known)) known.push(value);
  else fields.set(name, known === undefined ? value : [known, value]);
}

function wrong(why: string): PorticoError {
  return errors.unreadableXml({ problem: why });
}
