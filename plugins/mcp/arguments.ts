/** Validates the arguments of a call against the input schema of the server's tool, before they are sent. */
import type { Logger } from "portico";
import { createSchemaCheck, type SchemaCheck, TooMuchText } from "portico/json-schemas";

/** The most problems of one call that a message names. */
const MAX_PROBLEMS = 5;
/** The longest time for the validation of one call, in milliseconds. */
const CHECK_MS = 200;

/** Returns what is wrong with the arguments; undefined if they are valid. */
export type ArgumentCheck = (args: unknown) => string | undefined;

/**
 * A schema that cannot be used (it has a broken reference, or takes too long) validates nothing from then on, because the
 * server validates by itself. Likewise, patterns that the linear engine does not support match everything.
 */
export function createArgumentCheck(
  schema: Record<string, unknown>,
  { tool, log }: { tool: string; log: Logger },
): ArgumentCheck {
  const check = createSchemaCheck(schema, { unsupportedPattern: "matches", limitMs: CHECK_MS });
  let isUsable = true;
  return (args) => {
    if (!isUsable) return undefined;
    try {
      return describeProblems(check(args));
    } catch (error) {
      if (error instanceof TooMuchText) return undefined;
      isUsable = false;
      log.warn(
        { err: error, tool },
        "The input schema of the tool cannot be used, so its calls are not checked.",
      );
      return undefined;
    }
  };
}

function describeProblems(errors: ReturnType<SchemaCheck>): string | undefined {
  if (errors.length === 0) return undefined;
  // The errors of an outer schema only say that an inner one does not match.
  const innerErrors = errors.filter(
    ({ keyword }) => keyword !== "properties" && keyword !== "items",
  );
  const problems = innerErrors.map(({ instanceLocation, error }) => {
    const path = instanceLocation.replace(/^#\/?/, "");
    return path === "" ? error : `${path}: ${error}`;
  });
  return [...new Set(problems)].slice(0, MAX_PROBLEMS).join(" ");
}
