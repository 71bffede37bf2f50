/**
 * Makes a small value for a JSON Schema from `const`, `enum`, `type`, `required`, bounds and `format`. Ignores other keywords
 * (`pattern`, `not`, `uniqueItems` and so on), but checks the finished value against all of them.
 */
import { createSchemaCheck } from "portico/json-schemas";
import { refused } from "portico/provider";
import { Maker, Unmet } from "./maker.ts";
import { isSchema } from "./schema.ts";

/** The limit for the members and characters that are visited or made for one schema, which comes from a client. */
const MAX_WORK = 100_000;
/** The limits for nesting that are tried in turn. A shallow value is tried first, so that recursive schemas end soon. */
const DEPTHS = [1, 2, 4, 8, 16, 32];
/** The longest time for the check of one value, in milliseconds. */
const CHECK_MS = 100;

/** Throws 400 with `param`, the schema's place in the request, if echo makes no value that the schema accepts. */
export function smallestValue(schema: unknown, param: string): unknown {
  try {
    const value = makeShallowest(schema);
    check(schema, value);
    return value;
  } catch (error) {
    if (!(error instanceof Unmet)) throw error;
    throw refused(
      param,
      `echo cannot create a value for this schema: ${error.message}. Add an enum or a const that echo can use`,
    );
  }
}

function makeShallowest(schema: unknown): unknown {
  const budget = { remaining: MAX_WORK };
  let reason: unknown;
  for (const maxDepth of DEPTHS) {
    try {
      return new Maker(schema, maxDepth, budget).make(schema, "object");
    } catch (error) {
      reason = error;
      if (!(error instanceof Unmet) || budget.remaining < 0) break;
    }
  }
  throw reason;
}

/** Throws `Unmet` if the value violates a keyword, and for schemas that cannot be checked. */
function check(schema: unknown, value: unknown): void {
  if (!isSchema(schema)) return;
  const checkValue = createSchemaCheck(schema, { unsupportedPattern: "fails", limitMs: CHECK_MS });
  let violation: { keyword: string } | undefined;
  try {
    violation = checkValue(value).at(-1);
  } catch (error) {
    throw new Unmet(
      `a value cannot be checked against it (${(error as Error).message.slice(0, 200)})`,
    );
  }
  if (violation !== undefined)
    throw new Unmet(`${JSON.stringify(value).slice(0, 100)} violates its ${violation.keyword}`);
}
