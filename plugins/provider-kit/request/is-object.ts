/** The unchecked members of a JSON object. */
export type JsonMembers = Record<string, unknown>;

/** True for a JSON object: neither null nor a list. */
export function isObject(value: unknown): value is JsonMembers {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
