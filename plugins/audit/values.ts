/** Values for the audit trail: bounded copies without secrets, and differences between values. */
import { isDeepStrictEqual } from "node:util";
import { isSecretHeader, isSecretName, MASK, maskAddress } from "portico";
import { clip } from "portico/strings";

export interface Difference {
  /** The path of the value, such as `schedule.expr`. */
  key: string;
  /** Absent if the key was added. */
  before?: unknown;
  /** Absent if the key was removed. */
  after?: unknown;
}

const MAX_CHARACTERS = 300;
const MAX_MEMBERS = 20;
const MAX_DEPTH = 5;
const MAX_DIFFERENCES = 40;

/** Returns the differences between two values. Descends while both sides are objects. */
export function compare(before: unknown, after: unknown, key = ""): Difference[] {
  if (isDeepStrictEqual(before, after)) return [];
  const [left, right] = [membersOf(before), membersOf(after)];
  if (!left || !right) return [{ key, before, after }];
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...names].flatMap((name) =>
    compare(left[name], right[name], key === "" ? name : `${key}.${name}`),
  );
}

/**
 * Summarises a deleted entry: keeps its plain values, and only the lengths of its lists, so that a session's messages do
 * not stay.
 */
export function summarize(value: unknown): unknown {
  if (Array.isArray(value)) return `${value.length} items`;
  const members = membersOf(value);
  if (!members) return value;
  return Object.fromEntries(
    Object.entries(members).map(([name, member]) => [name, summarize(member)]),
  );
}

export function maskDifferences(differences: readonly Difference[]): Difference[] {
  return differences.slice(0, MAX_DIFFERENCES).map(({ key, before, after }) => ({
    key,
    before: maskAt(key, before),
    after: maskAt(key, after),
  }));
}

function maskAt(key: string, value: unknown): unknown {
  const [name = "", above = ""] = key.split(".").reverse();
  return isSecret(name, value, above) ? MASK : maskedCopy(value, name);
}

/** Returns a bounded copy with masked secrets and masked credentials in addresses. `at` is the value's own name. */
export function maskedCopy(value: unknown, at = "", depth = 0): unknown {
  if (typeof value === "string") return clip(maskAddress(value), MAX_CHARACTERS);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MAX_DEPTH) return "…";
  if (Array.isArray(value))
    return value.slice(0, MAX_MEMBERS).map((member) => maskedCopy(member, at, depth + 1));
  const members = Object.entries(value).slice(0, MAX_MEMBERS);
  const isAboutSecret = namesSecret(value as Record<string, unknown>);
  return Object.fromEntries(
    members.map(([name, member]) => {
      const isHidden = isSecret(name, member, at) || (isAboutSecret && name === "value");
      return [name, isHidden ? MASK : maskedCopy(member, name, depth + 1)];
    }),
  );
}

/** Maps whose keys the user chooses, so that a key that only resembles a secret's name is masked, too. */
const USER_KEYED_MAPS = new Set(["headers", "env"]);

/** True if the name denotes a secret and the value can hold one. Numbers cannot: `tokensPerMinute`, `promptTokens`. */
function isSecret(name: string, value: unknown, above: string): boolean {
  const canHide = typeof value === "string" || (typeof value === "object" && value !== null);
  return canHide && (USER_KEYED_MAPS.has(above) ? isSecretHeader(name) : isSecretName(name));
}

/** True for an object such as `{ key: "channels.main.apiKey", value: … }`, whose `value` is a secret. */
function namesSecret({ key, path, name }: Record<string, unknown>): boolean {
  const texts = [key, name, ...(Array.isArray(path) ? path : [path])];
  return texts.some((text) => typeof text === "string" && isSecretName(text));
}

/** Returns the members of an object, none for `undefined`, and `undefined` for any other value. */
function membersOf(value: unknown): Record<string, unknown> | undefined {
  if (value === undefined) return {};
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? (value as Record<string, unknown>) : undefined;
}
