/** Replaces halves of surrogate pairs, which clients leave behind when they cut a text by its UTF-16 length. */
import type { JsonObject } from "../request/read-value.ts";
import type { RequestRule, RuleNotes } from "../types/rules.ts";

/** Strict JSON parsers refuse such a request, and with it the session that holds the text. */
export const wellFormedUnicode: RequestRule = {
  name: "well-formed-unicode",
  demand: "Every string is well-formed Unicode.",
  remedy: "Replaces half a surrogate pair with U+FFFD.",
  chat: mendAll,
  messages: mendAll,
};

function mendAll<Request extends JsonObject>(request: Request, notes: RuleNotes): Request {
  if (notes.isWellFormed || isWellFormed(request)) return request;
  return wellFormedValue(request, "", notes.change) as Request;
}

/** Most requests are: they are looked at once, without the paths that a change would need. */
function isWellFormed(value: unknown, key = ""): boolean {
  if (typeof value === "string")
    return value.isWellFormed() && (key !== "arguments" || !MAYBE_HALF.test(value));
  if (Array.isArray(value)) return value.every((item) => isWellFormed(item));
  if (typeof value !== "object" || value === null) return true;
  for (const name in value) {
    const member = (value as JsonObject)[name];
    if (!name.isWellFormed() || !isWellFormed(member, name)) return false;
  }
  return true;
}

/** The same value where it holds no half pair; otherwise a copy without any. `change` hears of each place. */
export function wellFormedValue(
  value: unknown,
  path: string,
  change: (place: string) => void,
): unknown {
  if (typeof value === "string") return wellFormedText(value, path, change);
  if (Array.isArray(value)) return wellFormedList(value, path, change);
  if (typeof value !== "object" || value === null) return value;
  let copy: JsonObject | undefined;
  for (const [key, member] of Object.entries(value)) {
    const place = path === "" ? key : `${path}.${key}`;
    const name = key.isWellFormed() ? key : key.toWellFormed();
    const repaired = wellFormedValue(member, place.toWellFormed(), change);
    if (name === key && repaired === member) continue;
    copy ??= { ...(value as JsonObject) };
    if (name !== key) {
      change(place.toWellFormed());
      delete copy[key];
    }
    copy[name] = repaired;
  }
  return copy ?? value;
}

function wellFormedList(
  list: readonly unknown[],
  path: string,
  change: (place: string) => void,
): readonly unknown[] {
  let copy: unknown[] | undefined;
  for (const [i, item] of list.entries()) {
    const repaired = wellFormedValue(item, `${path}[${i}]`, change);
    if (repaired === item) continue;
    copy ??= [...list];
    copy[i] = repaired;
  }
  return copy ?? list;
}

/** The arguments of a call are JSON in a string: an escape in them becomes half a pair once they are parsed. */
const HOLDS_JSON = /\.arguments$/;

function wellFormedText(text: string, path: string, change: (place: string) => void): string {
  const repaired = text.toWellFormed();
  const whole = HOLDS_JSON.test(path) ? wellFormedJson(repaired) : repaired;
  if (whole !== text) change(path);
  return whole;
}

/** A whole pair, half of one, or any other escape, so that an escaped backslash is not taken for the start of one. */
const ESCAPE =
  /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\./gs;
const HALF_LENGTH = "\\ud83d".length;
const REPLACEMENT = "\\ufffd";

const MAYBE_HALF = /\\u[dD][89a-fA-F]/;

/** JSON text whose escapes spell no half of a surrogate pair. */
export function wellFormedJson(json: string): string {
  if (!MAYBE_HALF.test(json)) return json;
  return json.replace(ESCAPE, (sequence) =>
    sequence.length === HALF_LENGTH ? REPLACEMENT : sequence,
  );
}
