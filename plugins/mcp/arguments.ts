/** Arguments of a call against the input schema that the server gives its tool, before they are sent. */
import { type Schema, type SchemaDraft, Validator } from "@cfworker/json-schema";
import type { Logger } from "portico";
import { runBounded } from "./bounded.ts";

/** So many places of one call are named. */
const MOST_PROBLEMS = 5;

/** Says what is wrong with arguments; undefined where nothing is. */
export type ArgumentCheck = (args: unknown) => string | undefined;

/**
 * The schema is interpreted, never made into code. One that cannot be used (it refers to something that is not there, a
 * pattern of it is no regular expression, it takes too long) checks nothing from then on: the server checks by itself.
 */
export function createArgumentCheck(
  schema: Record<string, unknown>,
  { tool, log }: { tool: string; log: Logger },
): ArgumentCheck {
  let validator: Validator | undefined;
  let isUsable = true;
  return (args) => {
    if (!isUsable) return undefined;
    try {
      return runBounded(() => {
        validator ??= new Validator(schema as Schema, draftOf(schema), false);
        return problemsOf(validator, args);
      });
    } catch (error) {
      isUsable = false;
      log.warn(
        { err: error, tool },
        "the tool's input schema cannot be used: calls are not checked",
      );
      return undefined;
    }
  };
}

function draftOf({ $schema }: Record<string, unknown>): SchemaDraft {
  const uri = typeof $schema === "string" ? $schema : "";
  if (uri.includes("draft-04")) return "4";
  if (uri.includes("draft-07") || uri.includes("draft-06")) return "7";
  return uri.includes("2019-09") ? "2019-09" : "2020-12";
}

function problemsOf(validator: Validator, args: unknown): string | undefined {
  const { valid, errors } = validator.validate(args);
  if (valid) return undefined;
  // those of a schema around another one only say that the inner one does not fit
  const inner = errors.filter(({ keyword }) => keyword !== "properties" && keyword !== "items");
  const problems = inner.map(({ instanceLocation, error }) => {
    const path = instanceLocation.replace(/^#\/?/, "");
    return path === "" ? error : `${path}: ${error}`;
  });
  return [...new Set(problems)].slice(0, MOST_PROBLEMS).join(" ");
}
