/** Values of a request whose place is known, for formats that are read by hand. Throw 400 with `param`. */
import { errors } from "../errors.ts";
import { refused } from "./fields.ts";
import type { JsonObject } from "../types/json.ts";

export type { JsonObject };

/** The value, which must be an object. `path` names it in the error. */
export function objectAt(value: unknown, path: string): JsonObject {
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as JsonObject;
  throw refused(
    path,
    value == null ? `\`${path}\` is missing: send an object` : `\`${path}\` must be an object`,
  );
}

/** The body of a request, which must be an object. `members`: those that every request needs. */
export function bodyObject(value: unknown, members: string): JsonObject {
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as JsonObject;
  throw errors.refusedField({ problem: `The body must be a JSON object with ${members}.` });
}

/** The value, which must be a string. */
export function stringAt(value: unknown, path: string): string {
  if (typeof value === "string") return value;
  throw refused(
    path,
    value == null ? `\`${path}\` is missing: send a string` : `\`${path}\` must be a string`,
  );
}

/** The value, which must be a list. */
export function listAt(value: unknown, path: string): unknown[] {
  if (Array.isArray(value)) return value;
  throw refused(
    path,
    value == null ? `\`${path}\` is missing: send a list` : `\`${path}\` must be a list`,
  );
}

/** Undefined where the value is unset. */
export function optionalObject(value: unknown, path: string): JsonObject | undefined {
  return value == null ? undefined : objectAt(value, path);
}

/** A string; undefined where it is unset or null. */
export function optionalString(value: unknown, path: string): string | undefined {
  return value == null ? undefined : stringAt(value, path);
}

/** A boolean; undefined where it is unset or null. */
export function optionalBoolean(value: unknown, path: string): boolean | undefined {
  if (value == null) return undefined;
  if (typeof value === "boolean") return value;
  throw refused(path, `\`${path}\` must be true or false`);
}

/** A number from `low` to `high`; undefined where it is unset or null. */
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
