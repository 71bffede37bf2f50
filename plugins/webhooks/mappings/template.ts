/** Templates: `{body.a.b}`, `{headers.x}`, `{query.x}`, `{json body.a}`. Other braces stay as they are. */
import { didYouMean, exactJson } from "portico";
import { errors } from "../errors.ts";
import { lookUp, type Path, listPaths, readPath, type Request } from "./paths.ts";

interface RenderedTemplate {
  text: string;
  /** Placeholders for which the request has no value. */
  missing: string[];
  /** True if the request has no value for any of the placeholders. Unrelated requests would share such a name. */
  isBlank: boolean;
}

export interface Template {
  readonly source: string;
  /** The owner's words, with `[…]` in place of each value from outside. */
  readonly outline: string;
  /** True if the template has no placeholders for values of a request. */
  readonly isFixed: boolean;
  /** Fills in the values of a request. `names` are the values of placeholders such as `{turnId}` in the owner's words. */
  render(request: Request, names?: Readonly<Record<string, string>>): RenderedTemplate;
}

type Segment = string | { path: Path; json: boolean; placeholder: string };

const PLACEHOLDER =
  /\{(json\s+)?((?:body|headers|query)(?:\.[^\s.[\]{}"']+|\[\d+\]|\["(?:[^"\\]|\\.)*"\])*)\}/g;
/** A text that looks like a placeholder. */
const PLACEHOLDER_LIKE = /\{(json\s+)?([A-Za-z]\w*)([.[][^{}\s]*)?\}/g;
const ROOTS = ["body", "headers", "query"];
/** The names that other systems use for the body. */
const BODY_NAMES = new Set(["payload", "event", "data", "json", "request"]);

/** Parses a template. Throws `invalid_request_error` under `key` for a text that looks like a placeholder but is not one. */
export function readTemplate(source: string, key: string): Template {
  const segments: Segment[] = [];
  let at = 0;
  const addText = (text: string): void => {
    for (const attempt of text.matchAll(PLACEHOLDER_LIKE)) checkAttempt(attempt, key);
    segments.push(text);
  };
  for (const match of source.matchAll(PLACEHOLDER)) {
    const path = readPath(match[2] ?? "");
    if (!path) continue;
    addText(source.slice(at, match.index));
    segments.push({ path, json: match[1] !== undefined, placeholder: match[0] });
    at = match.index + match[0].length;
  }
  addText(source.slice(at));
  return {
    source,
    outline: segments.map((segment) => (typeof segment === "string" ? segment : "[…]")).join(""),
    isFixed: segments.length === 1,
    render(request, names) {
      const missing: string[] = [];
      let isBlank = segments.length > 1;
      const texts = segments.map((segment) => {
        if (typeof segment === "string") return names ? fillNames(segment, names) : segment;
        const value = lookUp(request, segment.path);
        if (value === undefined) missing.push(segment.placeholder);
        const text = segment.json ? (exactJson.stringify(value, 2) ?? "") : toText(value);
        isBlank &&= text.trim() === "";
        return text;
      });
      return { text: texts.join(""), missing, isBlank };
    },
  };
}

/** Throws `invalid_request_error` if a sample has no value for a placeholder, with the most similar path that it has. */
export function checkAgainst(template: Template, sample: Request, key: string): void {
  const [placeholder] = template.render(sample).missing;
  if (placeholder === undefined) return;
  const near = findNearestPath(placeholder, sample);
  const hint = near === undefined ? "" : ` Did you mean {${near}}?`;
  throw errors.noValueInSample({ key, placeholder, hint }, { param: key });
}

/** Returns the path of a request that is most similar to a placeholder. */
export function findNearestPath(placeholder: string, request: Request): string | undefined {
  return didYouMean(placeholder.replace(/^\{(json\s+)?|\}$/g, ""), listPaths(request));
}

function checkAttempt(
  [placeholder, json, root = "", rest = ""]: RegExpExecArray,
  key: string,
): void {
  if (json === undefined && rest === "" && !ROOTS.includes(root)) return;
  const nearest = BODY_NAMES.has(root) ? "body" : didYouMean(root, ROOTS);
  if (nearest === undefined && json === undefined) return;
  const hint = readPath((nearest ?? "") + rest)
    ? `Did you mean {${nearest}${rest}}?`
    : "Write {body.a[0].b}, {headers.<name>}, {query.<name>} or {json body.a}.";
  throw errors.badPlaceholder({ key, placeholder, hint }, { param: key });
}

function fillNames(text: string, names: Readonly<Record<string, string>>): string {
  return text.replace(/\{(\w+)\}/g, (placeholder, name: string) =>
    Object.hasOwn(names, name) ? names[name]! : placeholder,
  );
}

function toText(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? exactJson.stringify(value)! : String(value);
}
