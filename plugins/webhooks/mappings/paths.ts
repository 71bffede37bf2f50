/** Dotted paths into a request: `body.items[0].id`, `headers.x-github-event`, `query.team`. */
import { MASK } from "portico";
import { errors } from "../errors.ts";

/** A request as mappings see it. Header names are in lower case. */
export interface Request {
  body: unknown;
  headers: Readonly<Record<string, string>>;
  query: Readonly<Record<string, string>>;
  /** The body as single mappings read it, by their names. Their senders send another format than the content type says. */
  variants?: ReadonlyMap<string, unknown> | undefined;
}

type Root = "body" | "headers" | "query";
export interface Path {
  root: Root;
  steps: readonly (string | number)[];
}

const STEP = /\.([^\s.[\]{}"']+)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]/y;

/** Parses a path, or returns `undefined` for a text that is not a path. */
export function readPath(text: string): Path | undefined {
  const root = /^(body|headers|query)(?=$|[.[])/.exec(text)?.[1] as Root | undefined;
  if (!root) return undefined;
  const steps: (string | number)[] = [];
  STEP.lastIndex = root.length;
  while (STEP.lastIndex < text.length) {
    const step = STEP.exec(text);
    if (!step) return undefined;
    const [, name, index, quoted] = step;
    steps.push(
      index === undefined ? (name ?? (quoted as string).replace(/\\(.)/g, "$1")) : Number(index),
    );
  }
  if (root !== "body" && (steps.length !== 1 || typeof steps[0] !== "string")) return undefined;
  return { root, steps: root === "headers" ? [(steps[0] as string).toLowerCase()] : steps };
}

/** Parses a path like `readPath`. Throws `invalid_request_error` under the key of the configuration. */
export function parsePath(text: string, key: string): Path {
  const path = readPath(text);
  if (path) return path;
  throw errors.badPath({ key, path: text }, { param: key });
}

/** Returns the value at a path, or `undefined`. It reads own properties only, never those of a prototype. */
export function lookUp(request: Request, { root, steps }: Path): unknown {
  let value: unknown = request[root];
  for (const step of steps) {
    // XML does not say whether an element is a list. So the first item of an element that occurs once is the element.
    if (step === 0 && !Array.isArray(value) && isXml(request)) continue;
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step))
      return undefined;
    // The `length` of an array is not data of the sender.
    if (Array.isArray(value) && !/^\d+$/.test(String(step))) return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}

const isXml = ({ headers }: Request): boolean => /xml/i.test(headers["content-type"] ?? "");

const MAX_PATHS = 2000;
const MAX_LISTED_ITEMS = 3;
const PLAIN_NAME = /^[^\s.[\]{}"']+$/;

/** Lists the paths of all values in a request, as templates write them. */
export function listPaths({ body, headers, query }: Request): string[] {
  const paths: string[] = [];
  addPaths(paths, body, "body");
  // A masked header has no value for a template either.
  for (const [name, value] of Object.entries(headers))
    if (value !== MASK) paths.push(`headers.${name}`);
  for (const name of Object.keys(query)) paths.push(`query.${name}`);
  return paths;
}

/** Adds the path of a value and of everything in it, but only of the first items of a list. */
function addPaths(paths: string[], value: unknown, path: string): void {
  if (paths.length >= MAX_PATHS) return;
  paths.push(path);
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    for (const [i, item] of value.slice(0, MAX_LISTED_ITEMS).entries())
      addPaths(paths, item, `${path}[${i}]`);
    return;
  }
  for (const [name, member] of Object.entries(value))
    addPaths(paths, member, path + formatStep(name));
}

function formatStep(name: string): string {
  return PLAIN_NAME.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}
