/** Values as the audit trail shows them: bounded, without secrets, and what differs between two of them. */
import { isDeepStrictEqual } from "node:util";
import { isSecretHeader, isSecretName, MASK, maskAddress } from "portico";
import { clip } from "portico/strings";

export interface Difference {
  /** Where: `schedule.expr`. */
  key: string;
  /** Absent where it was added. */
  before?: unknown;
  /** Absent where it was removed. */
  after?: unknown;
}

const MOST_CHARACTERS = 300;
const MOST_MEMBERS = 20;
const MOST_DEPTH = 5;
const MOST_DIFFERENCES = 40;

/** What differs, as deep as both sides are objects. */
export function compare(before: unknown, after: unknown, key = ""): Difference[] {
  if (isDeepStrictEqual(before, after)) return [];
  const [left, right] = [membersOf(before), membersOf(after)];
  if (!left || !right) return [{ key, before, after }];
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...names].flatMap((name) =>
    compare(left[name], right[name], key === "" ? name : `${key}.${name}`),
  );
}

/** An entry that goes away: its plain values, and of lists only how long they were. Texts of a session go with it. */
export function summary(value: unknown): unknown {
  if (Array.isArray(value)) return `${value.length} items`;
  const members = membersOf(value);
  if (!members) return value;
  return Object.fromEntries(Object.entries(members).map(([name, each]) => [name, summary(each)]));
}

export function shownDifferences(differences: readonly Difference[]): Difference[] {
  return differences.slice(0, MOST_DIFFERENCES).map(({ key, before, after }) => ({
    key,
    before: shownAt(key, before),
    after: shownAt(key, after),
  }));
}

function shownAt(key: string, value: unknown): unknown {
  const [name = "", above = ""] = key.split(".").reverse();
  return isSecret(name, value, above) ? MASK : shownValue(value, name);
}

/** A bounded copy. What is named a secret is masked, and so are credentials in addresses. `at` is the value's own name. */
export function shownValue(value: unknown, at = "", depth = 0): unknown {
  if (typeof value === "string") return clip(maskAddress(value), MOST_CHARACTERS);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MOST_DEPTH) return "…";
  if (Array.isArray(value))
    return value.slice(0, MOST_MEMBERS).map((member) => shownValue(member, at, depth + 1));
  const members = Object.entries(value).slice(0, MOST_MEMBERS);
  const isAboutSecret = namesSecret(value as Record<string, unknown>);
  return Object.fromEntries(
    members.map(([name, member]) => {
      const isHidden = isSecret(name, member, at) || (isAboutSecret && name === "value");
      return [name, isHidden ? MASK : shownValue(member, name, depth + 1)];
    }),
  );
}

/** The names in these are free, so a hint is enough. */
const FREE_NAMES = new Set(["headers", "env"]);

/** Numbers are none: `tokensPerMinute`, `promptTokens`. */
function isSecret(name: string, value: unknown, above: string): boolean {
  const canHide = typeof value === "string" || (typeof value === "object" && value !== null);
  return canHide && (FREE_NAMES.has(above) ? isSecretHeader(name) : isSecretName(name));
}

/** `{ key: "channels.main.apiKey", value: … }`: the name is a sibling of its value. */
function namesSecret({ key, path, name }: Record<string, unknown>): boolean {
  const texts = [key, name, ...(Array.isArray(path) ? path : [path])];
  return texts.some((text) => typeof text === "string" && isSecretName(text));
}

/** What is not there has no members; what is no object has none that could be compared. */
function membersOf(value: unknown): Record<string, unknown> | undefined {
  if (value === undefined) return {};
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? (value as Record<string, unknown>) : undefined;
}
