/** Templates: `{body.a.b}`, `{headers.x}`, `{query.x}`, `{json body.a}`. Other braces stay as they are. */
import { didYouMean, exactJson } from "portico";
import { errors } from "../errors.ts";
import { lookUp, type Path, pathsOf, readPath, type Request } from "./paths.ts";

interface Rendered {
  text: string;
  /** Placeholders for which the request has no value. */
  missing: string[];
  /** It has placeholders, and the request has nothing for any of them: as a name it would be everybody's. */
  isBlank: boolean;
}

export interface Template {
  readonly source: string;
  /** Only the owner's words, with `[…]` in place of each value from outside. */
  readonly outline: string;
  /** True where nothing of a request goes into it. */
  readonly isFixed: boolean;
  /** `names` are what `{turnId}` and its like stand for; only in the owner's words. */
  render(request: Request, names?: Readonly<Record<string, string>>): Rendered;
}

type Segment = string | { path: Path; json: boolean; placeholder: string };

const PLACEHOLDER =
  /\{(json\s+)?((?:body|headers|query)(?:\.[^\s.[\]{}"']+|\[\d+\]|\["(?:[^"\\]|\\.)*"\])*)\}/g;
/** What looks like one. */
const ATTEMPT = /\{(json\s+)?([A-Za-z]\w*)([.[][^{}\s]*)?\}/g;
const ROOTS = ["body", "headers", "query"];
/** What others call the body. */
const BODY = new Set(["payload", "event", "data", "json", "request"]);

/** Throws `invalid_request_error` under `key` for a text that looks like a placeholder and is not one. */
export function readTemplate(source: string, key: string): Template {
  const segments: Segment[] = [];
  let at = 0;
  const add = (words: string): void => {
    for (const attempt of words.matchAll(ATTEMPT)) checkAttempt(attempt, key);
    segments.push(words);
  };
  for (const match of source.matchAll(PLACEHOLDER)) {
    const path = readPath(match[2] ?? "");
    if (!path) continue;
    add(source.slice(at, match.index));
    segments.push({ path, json: match[1] !== undefined, placeholder: match[0] });
    at = match.index + match[0].length;
  }
  add(source.slice(at));
  return {
    source,
    outline: segments.map((segment) => (typeof segment === "string" ? segment : "[…]")).join(""),
    isFixed: segments.length === 1,
    render(request, names) {
      const missing: string[] = [];
      let isBlank = segments.length > 1;
      const texts = segments.map((segment) => {
        if (typeof segment === "string") return names ? named(segment, names) : segment;
        const value = lookUp(request, segment.path);
        if (value === undefined) missing.push(segment.placeholder);
        const text = segment.json ? (exactJson.stringify(value, 2) ?? "") : textOf(value);
        isBlank &&= text.trim() === "";
        return text;
      });
      return { text: texts.join(""), missing, isBlank };
    },
  };
}

/** Throws where a sample has nothing for a placeholder, with the nearest path that it has. */
export function checkAgainst(template: Template, sample: Request, key: string): void {
  const [placeholder] = template.render(sample).missing;
  if (placeholder === undefined) return;
  const near = nearestPath(placeholder, sample);
  const hint = near === undefined ? "" : ` Did you mean {${near}}?`;
  throw errors.noValueInSample({ key, placeholder, hint }, { param: key });
}

/** The path of a request that is written most like a placeholder. */
export function nearestPath(placeholder: string, request: Request): string | undefined {
  return didYouMean(placeholder.replace(/^\{(json\s+)?|\}$/g, ""), pathsOf(request));
}

function checkAttempt(
  [placeholder, json, root = "", rest = ""]: RegExpExecArray,
  key: string,
): void {
  if (json === undefined && rest === "" && !ROOTS.includes(root)) return;
  const nearest = BODY.has(root) ? "body" : didYouMean(root, ROOTS);
  if (nearest === undefined && json === undefined) return;
  const hint = readPath((nearest ?? "") + rest)
    ? `Did you mean {${nearest}${rest}}?`
    : "Write {body.a[0].b}, {headers.<name>}, {query.<name>} or {json body.a}.";
  throw errors.badPlaceholder({ key, placeholder, hint }, { param: key });
}

function named(words: string, names: Readonly<Record<string, string>>): string {
  return words.replace(/\{(\w+)\}/g, (all, name: string) =>
    Object.hasOwn(names, name) ? names[name]! : all,
  );
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? exactJson.stringify(value)! : String(value);
}
