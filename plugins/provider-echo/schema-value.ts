/**
 * A small value for a JSON Schema: what `const`, `enum`, `type`, `required`, bounds and `format` ask for. Other keywords
 * (`pattern`, `not`, `uniqueItems` and so on) are not made for, but the finished value is checked against all of them.
 */
import { createSchemaCheck } from "portico/json-schemas";
import { refused } from "portico/provider";
import { Maker, Unmet } from "./maker.ts";
import { isSchema } from "./schema.ts";

/** Members and characters of all that is visited and made for one schema, which comes from a client. */
const MAX_WORK = 100_000;
/** How deep the value may nest. The shallowest value is searched first, so that lists of links end soon. */
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
      `echo makes no value for this schema: ${error.message}. Add an enum or a const that it can use`,
    );
  }
}

function makeShallowest(schema: unknown): unknown {
  const budget = { left: MAX_WORK };
  let reason: unknown;
  for (const maxDepth of DEPTHS) {
    try {
      return new Maker(schema, maxDepth, budget).make(schema, "object");
    } catch (error) {
      reason = error;
      if (!(error instanceof Unmet) || budget.left < 0) break;
    }
  }
  throw reason;
}

/** Throws `Unmet` where the value breaks a keyword, and for schemas that cannot be checked. */
function check(schema: unknown, value: unknown): void {
  if (!isSchema(schema)) return;
  const checkValue = createSchemaCheck(schema, { unsupportedPattern: "fails", limitMs: CHECK_MS });
  let innermost: { keyword: string } | undefined;
  try {
    innermost = checkValue(value).at(-1);
  } catch (error) {
    throw new Unmet(`it cannot be checked (${(error as Error).message.slice(0, 200)})`);
  }
  if (innermost !== undefined)
    throw new Unmet(`${JSON.stringify(value).slice(0, 100)} breaks its ${innermost.keyword}`);
}
