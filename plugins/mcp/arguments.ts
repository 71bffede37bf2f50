/** Arguments of a call against the input schema that the server gives its tool, before they are sent. */
import type { Logger } from "portico";
import { createSchemaCheck, type SchemaCheck, TooMuchText } from "portico/json-schemas";

/** The most problems of one call that a message names. */
const MAX_PROBLEMS = 5;
/** The longest time for the check of one call, in milliseconds. */
const CHECK_MS = 200;

/** Says what is wrong with arguments; undefined where nothing is. */
export type ArgumentCheck = (args: unknown) => string | undefined;

/**
 * A schema that cannot be used (it refers to something that is not there, it takes too long) checks nothing from then
 * on: the server checks by itself. The same holds for patterns that the linear engine does not support.
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
        "The input schema of the tool cannot be used. Calls are not checked against it.",
      );
      return undefined;
    }
  };
}

function describeProblems(errors: ReturnType<SchemaCheck>): string | undefined {
  if (errors.length === 0) return undefined;
  // The errors of an outer schema only say that an inner one does not fit.
  const inner = errors.filter(({ keyword }) => keyword !== "properties" && keyword !== "items");
  const problems = inner.map(({ instanceLocation, error }) => {
    const path = instanceLocation.replace(/^#\/?/, "");
    return path === "" ? error : `${path}: ${error}`;
  });
  return [...new Set(problems)].slice(0, MAX_PROBLEMS).join(" ");
}
