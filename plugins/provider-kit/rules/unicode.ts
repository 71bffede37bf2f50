/** Replaces unpaired surrogates, which clients create when they cut a text by its UTF-16 length. */
import type { JsonObject } from "../request/read-value.ts";
import type { RequestRule, RuleNotes } from "../types/rules.ts";

/** Without this rule, strict JSON parsers refuse the request, and every later one of a session that contains the text. */
export const wellFormedUnicode: RequestRule = {
  name: "well-formed-unicode",
  demand: "Every string must be well-formed Unicode.",
  remedy: "Replaces each unpaired surrogate with U+FFFD.",
  chat: repairRequest,
  messages: repairRequest,
};

function repairRequest<Request extends JsonObject>(request: Request, notes: RuleNotes): Request {
  if (notes.isWellFormed || isWellFormed(request)) return request;
  return wellFormedValue(request, "", notes.change) as Request;
}

/** A fast check for the usual case, without the paths that recording a change would need. */
function isWellFormed(value: unknown, key = ""): boolean {
  if (typeof value === "string")
    return value.isWellFormed() && (key !== "arguments" || !MAYBE_SURROGATE.test(value));
  if (Array.isArray(value)) return value.every((item) => isWellFormed(item));
  if (typeof value !== "object" || value === null) return true;
  for (const name in value) {
    const member = (value as JsonObject)[name];
    if (!name.isWellFormed() || !isWellFormed(member, name)) return false;
  }
  return true;
}

/** Returns the same value if it has no unpaired surrogate, otherwise a repaired copy. Calls `change` with each place. */
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

/** The paths of arguments of calls, which are JSON in a string. An escape in them becomes a surrogate once they are parsed. */
const JSON_PATH = /\.arguments$/;

function wellFormedText(text: string, path: string, change: (place: string) => void): string {
  const repaired = text.toWellFormed();
  const wellFormed = JSON_PATH.test(path) ? wellFormedJson(repaired) : repaired;
  if (wellFormed !== text) change(path);
  return wellFormed;
}

/** A surrogate pair, an unpaired surrogate, or any other escape, so that an escaped backslash does not begin a match. */
const ESCAPE =
  /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\./gs;
const SURROGATE_LENGTH = "\\ud83d".length;
const REPLACEMENT = "\\ufffd";

const MAYBE_SURROGATE = /\\u[dD][89a-fA-F]/;

/** Replaces escapes of unpaired surrogates in a JSON text. */
export function wellFormedJson(json: string): string {
  if (!MAYBE_SURROGATE.test(json)) return json;
  return json.replace(ESCAPE, (sequence) =>
    sequence.length === SURROGATE_LENGTH ? REPLACEMENT : sequence,
  );
}
