/** Values of a request whose place is known, for formats that are read by hand. Throw 400 with `param`. */
import { refused } from "./fields.ts";

export type JsonObject = Record<string, unknown>;

export function objectAt(value: unknown, path: string): JsonObject {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as JsonObject;
  throw refused(path, value == null ? `\`${path}\` is missing: give an object` : `\`${path}\` must be an object`);
}

export function stringAt(value: unknown, path: string): string {
  if (typeof value === "string") return value;
  throw refused(path, value == null ? `\`${path}\` is missing: give a string` : `\`${path}\` must be a string`);
}

export function listAt(value: unknown, path: string): unknown[] {
  if (Array.isArray(value)) return value;
  throw refused(path, value == null ? `\`${path}\` is missing: give a list` : `\`${path}\` must be a list`);
}

/** Undefined where the value is unset. */
export function optionalObject(value: unknown, path: string): JsonObject | undefined {
  return value == null ? undefined : objectAt(value, path);
}

export function optionalString(value: unknown, path: string): string | undefined {
  return value == null ? undefined : stringAt(value, path);
}

export function optionalBoolean(value: unknown, path: string): boolean | undefined {
  if (value == null) return undefined;
  if (typeof value === "boolean") return value;
  throw refused(path, `\`${path}\` must be true or false`);
}

export function optionalNumber(value: unknown, path: string, low: number, high: number): number | undefined {
  if (value == null) return undefined;
  if (typeof value !== "number") throw refused(path, `\`${path}\` must be a number`);
  if (value >= low && value <= high) return value;
  throw refused(path, `\`${path}\` must be between ${low} and ${high}, not ${value}`);
}
