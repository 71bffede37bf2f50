/** Readers of values in a request, for formats that are read without a schema. They throw 400 with `param`. */
import { errors } from "../errors.ts";
import { refused } from "./fields.ts";
import type { JsonObject } from "../types/json.ts";

export type { JsonObject };

/** Returns the value, which must be an object. `path` identifies it in the error. */
export function objectAt(value: unknown, path: string): JsonObject {
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as JsonObject;
  throw refused(
    path,
    value == null ? `\`${path}\` is missing: send an object` : `\`${path}\` must be an object`,
  );
}

/** Returns the body of a request, which must be an object. The error names `members`, which every request needs. */
export function bodyObject(value: unknown, members: string): JsonObject {
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as JsonObject;
  throw errors.refusedField({ problem: `The body must be a JSON object with ${members}.` });
}

/** Returns the value, which must be a string. */
export function stringAt(value: unknown, path: string): string {
  if (typeof value === "string") return value;
  throw refused(
    path,
    value == null ? `\`${path}\` is missing: send a string` : `\`${path}\` must be a string`,
  );
}

/** Returns the value, which must be a list. */
export function listAt(value: unknown, path: string): unknown[] {
  if (Array.isArray(value)) return value;
  throw refused(
    path,
    value == null ? `\`${path}\` is missing: send a list` : `\`${path}\` must be a list`,
  );
}

/** Returns an object; undefined if the value is unset or null. */
export function optionalObject(value: unknown, path: string): JsonObject | undefined {
  return value == null ? undefined : objectAt(value, path);
}

/** Returns a string; undefined if the value is unset or null. */
export function optionalString(value: unknown, path: string): string | undefined {
  return value == null ? undefined : stringAt(value, path);
}

/** Returns a boolean; undefined if the value is unset or null. */
export function optionalBoolean(value: unknown, path: string): boolean | undefined {
  if (value == null) return undefined;
  if (typeof value === "boolean") return value;
  throw refused(path, `\`${path}\` must be true or false`);
}

/** Returns a number from `low` to `high`; undefined if the value is unset or null. */
export function optionalNumber(
  value: unknown,
  path: string,
  low: number,
  high: number,
): number | undefined {
  if (value == null) return undefined;
  if (typeof value !== "number") throw refused(path, `\`${path}\` must be a number`);
  if (value >= low && value <= high) return value;
  throw refused(path, `\`${path}\` must be between ${low} and ${high}, not ${value}`);
}
