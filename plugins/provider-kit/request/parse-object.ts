import { parseExact } from "../json/exact-json.ts";

/** Parses a JSON object (or list) of an upstream; undefined for anything else. Large integers keep their digits. */
export function parseObject(body: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = parseExact(body.toString("utf8"));
    return typeof value === "object" && value !== null
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
