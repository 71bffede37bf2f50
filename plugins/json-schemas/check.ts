/** Values against JSON Schemas that clients and servers send: interpreted, never made into code, and bounded in time. */
import { type OutputUnit, type Schema, type SchemaDraft, Validator } from "@cfworker/json-schema";
import { runBounded } from "portico";
import { loadEngine } from "./pattern.ts";
import { SafePatterns } from "./safe-patterns.ts";

export interface SchemaCheckOptions {
  /** What holds for a pattern that the engine of linear time does not support: it matches every text, or none. */
  unsupportedPattern: "matches" | "fails";
  /** The longest time for one value, in milliseconds. On a busy machine, only processor time counts. */
  limitMs: number;
}

/** What is wrong with a value, outermost first; an empty list where nothing is. */
export type SchemaCheck = (value: unknown) => OutputUnit[];

/**
 * Returns the check of values against one schema. The check throws where the schema cannot be used (it refers to
 * something that is not there, it takes longer than `limitMs`) and `TooMuchText` where only this value is too large.
 */
export function createSchemaCheck(
  schema: Record<string, unknown>,
  { unsupportedPattern, limitMs }: SchemaCheckOptions,
): SchemaCheck {
  const patterns = new SafePatterns({ matchesUnsupported: unsupportedPattern === "matches" });
  const draft = draftOf(schema);
  return (value) => {
    // Not within the limit: the first load of the engine takes a large part of it.
    if (hasPattern(schema)) loadEngine();
    const validate = () => {
      const safe = patterns.rewrite(schema, value) as Schema;
      return new Validator(safe, draft, false).validate(value).errors;
    };
    return runBounded(validate, limitMs, { repeatable: true });
  };
}

/** A property that is called `pattern` counts too, which does no harm. */
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
