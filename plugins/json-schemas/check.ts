/**
 * Checks values against JSON Schemas that clients and servers send. The schemas are interpreted, never compiled to code,
 * and the time is bounded.
 */
import { type OutputUnit, type Schema, type SchemaDraft, Validator } from "@cfworker/json-schema";
import { runBounded } from "portico";
import { loadEngine } from "./pattern.ts";
import { SafePatterns } from "./safe-patterns.ts";

export interface SchemaCheckOptions {
  /** The result of a pattern that the linear-time engine does not support: it matches every text, or none. */
  unsupportedPattern: "matches" | "fails";
  /** The time limit for one value, in milliseconds. On a busy machine, only processor time counts. */
  limitMs: number;
}

/** Returns the errors of a value, outermost first, or an empty list if it is valid. */
export type SchemaCheck = (value: unknown) => OutputUnit[];

/**
 * Returns a check of values against one schema. The check throws if the schema cannot be used (a reference has no target,
 * or it takes longer than `limitMs`), and throws `TooMuchText` if only this value is too large.
 */
export function createSchemaCheck(
  schema: Record<string, unknown>,
  { unsupportedPattern, limitMs }: SchemaCheckOptions,
): SchemaCheck {
  const patterns = new SafePatterns({ matchesUnsupported: unsupportedPattern === "matches" });
  const draft = draftOf(schema);
  return (value) => {
    // Loaded outside the time limit, since the first load of the engine takes a large part of it.
    if (hasPattern(schema)) loadEngine();
    const validate = () => {
      const safeSchema = patterns.rewrite(schema, value) as Schema;
      return new Validator(safeSchema, draft, false).validate(value).errors;
    };
    return runBounded(validate, limitMs, { repeatable: true });
  };
}

/** True if the schema may have patterns. A property with the name `pattern` counts, too, which does no harm. */
function hasPattern(schema: unknown): boolean {
  if (typeof schema !== "object" || schema === null) return false;
  if ("pattern" in schema || "patternProperties" in schema) return true;
  return Object.values(schema).some(hasPattern);
}

function draftOf({ $schema }: Record<string, unknown>): SchemaDraft {
  const uri = typeof $schema === "string" ? $schema : "";
  if (uri.includes("draft-04")) return "4";
  if (uri.includes("draft-07") || uri.includes("draft-06")) return "7";
  return uri.includes("2019-09") ? "2019-09" : "2020-12";
}
