import { FormatRegistry, type Static, type TSchema } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { fillDefaults } from "./defaults.ts";
import { errors } from "./errors.ts";
import { withSymbols } from "../text/exact-json.ts";
import { formatKeyPath } from "../text/key-path.ts";
import { mergeParts } from "./merge.ts";
import { problemsIn, sentence } from "./problems.ts";
import type { Check } from "../contract/index.ts";

// TypeBox refuses every value whose format is not registered.
const FORMATS: Record<string, (text: string) => boolean> = {
  uri: isUrl,
  "date-time": (text) =>
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i.test(text) &&
    !Number.isNaN(Date.parse(text)),
};
for (const [name, test] of Object.entries(FORMATS))
  if (!FormatRegistry.Has(name)) FormatRegistry.Set(name, test);

/** Does not use `URL.canParse`: Node 20's treats letters such as `ü` as broken UTF-8 once it is optimized. */
function isUrl(text: string): boolean {
  try {
    return new URL(text).href !== "";
  } catch {
    return false;
  }
}

/**
 * Turns a TypeBox schema into a check of values from outside. The code is generated at the first `parse` and cached.
 * `parse` fills in defaults, treats an optional `null` as absent (without changing its argument) and throws
 * `invalid_request_error` about the first problem, with its place in `param`: `messages[2].role`. An `ExactNumber` is
 * valid only where every value is: a number of the schema is one that a double holds exactly.
 */
export function compile<S extends TSchema>(schema: S): Check<Static<S>> {
  let check: ReturnType<typeof TypeCompiler.Compile<S>> | undefined;
  return {
    schema,
    merge: (parts, at) => mergeParts(schema, parts, at),
    parse(input) {
      check ??= TypeCompiler.Compile(schema);
      let value = fillDefaults(schema, input);
      if (check.Check(withSymbols(value))) return value as Static<S>;
      // A value that is valid with its nulls need not be searched for them, so this comes second.
      value = fillDefaults(schema, input, "nulls");
      const checkedValue = withSymbols(value);
      if (check.Check(checkedValue)) return value as Static<S>;
      const [problem] = problemsIn(check.Errors(checkedValue), checkedValue);
      if (!problem) throw errors.unexplained();
      const param = problem.path.length > 0 ? formatKeyPath(problem.path) : undefined;
      throw errors.invalidValue({ problem: sentence(problem, "The input") }, { param });
    },
  };
}
