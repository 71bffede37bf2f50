import { errors } from "./errors.ts";

/** The way into a JSON value: object keys as strings, array positions as numbers. */
export type KeyPath = readonly (string | number)[];

const PLAIN = /^[^\s.[\]"']+$/;

/** Writes a path as people do: `messages[2].role`, `channels["my.channel"].baseUrl`. */
export function formatKeyPath(path: KeyPath): string {
  let text = "";
  for (const step of path) {
    if (typeof step === "number") text += `[${step}]`;
    else if (PLAIN.test(step)) text += text === "" ? step : `.${step}`;
    else text += `[${JSON.stringify(step)}]`;
  }
  return text;
}

/** `channels["a.b"]` is below `channels` as `channels.a` is. */
export function isAtOrBelow(key: string, above: string): boolean {
  return key === above || (key.startsWith(above) && /^[.[]/.test(key.slice(above.length)));
}

/** Reads what `formatKeyPath` writes. Throws `invalid_request_error` for anything else. */
export function parseKeyPath(text: string): (string | number)[] {
  const path: (string | number)[] = [];
  const step = /(?:^|(?<=.)\.)([^\s.[\]"']+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\]/y;
  while (step.lastIndex < text.length) {
    const at = step.lastIndex;
    const match = step.exec(text);
    if (!match) throw errors.badKey({ text, rest: text.slice(at) });
    if (match[1] !== undefined) path.push(match[1]);
    else if (match[2] !== undefined) path.push(Number(match[2]));
    else path.push(unquote(match[3]!));
  }
  if (path.length === 0) throw errors.emptyKey();
  return path;
}

/** A path, or the text of one. */
export const toKeyPath = (path: string | KeyPath): KeyPath =>
  typeof path === "string" ? parseKeyPath(path) : path;

const unquote = (quoted: string): string => quoted.slice(1, -1).replace(/\\(.)/g, "$1");

/** What lies at a path, by own properties only; undefined where nothing does. */
export function valueAt(value: unknown, path: KeyPath): unknown {
  let here = value;
  for (const step of path) {
    if (typeof here !== "object" || here === null || !Object.hasOwn(here, step)) return undefined;
    here = (here as Record<string | number, unknown>)[step];
  }
  return here;
}

/** The same for a path as a person wrote it, which need not be one. */
export function lookUp(value: unknown, path: string): unknown {
  try {
    return valueAt(value, parseKeyPath(path));
  } catch {
    return undefined;
  }
}

/** A copy in which every string is changed. */
export function mapStrings(
  value: unknown,
  change: (text: string, path: (string | number)[]) => unknown,
  path: (string | number)[] = [],
): unknown {
  if (typeof value === "string") return change(value, path);
  if (Array.isArray(value)) return value.map((item, i) => mapStrings(item, change, [...path, i]));
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, mapStrings(item, change, [...path, key])]),
  );
}

/** A plain JSON object: not null, not an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
