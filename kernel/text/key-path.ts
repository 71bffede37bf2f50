import { errors } from "./errors.ts";

/** A path into a JSON value: object keys as strings, array positions as numbers. */
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

/** Whether a key is the key `above` or below it: `channels["a.b"]` is below `channels`, like `channels.a`. */
export function isAtOrBelow(key: string, above: string): boolean {
  return key === above || (key.startsWith(above) && /^[.[]/.test(key.slice(above.length)));
}

/** Parses the format of `formatKeyPath`. Throws `invalid_request_error` for anything else. */
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

/** Converts a path, or the text of one. */
export const toKeyPath = (path: string | KeyPath): KeyPath =>
  typeof path === "string" ? parseKeyPath(path) : path;

const unquote = (quoted: string): string => quoted.slice(1, -1).replace(/\\(.)/g, "$1");

/** Returns the value at a path, by own properties only; undefined if there is none. */
export function valueAt(value: unknown, path: KeyPath): unknown {
  let current = value;
  for (const step of path) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, step))
      return undefined;
    current = (current as Record<string | number, unknown>)[step];
  }
  return current;
}

/** Returns the value at a path that a person wrote; undefined for an invalid path. */
export function lookUp(value: unknown, path: string): unknown {
  try {
    return valueAt(value, parseKeyPath(path));
  } catch {
    return undefined;
  }
}

/** Returns a copy with `change` applied to every string. */
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

/** Whether a value is a plain JSON object: not null, not an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
