/** Removes lines that a poll ignores. */
import { compilePattern } from "portico/json-schemas";
import { errors } from "../../errors.ts";
import { changeLines } from "../lines.ts";

/**
 * Compiles the patterns of `source.ignore`. Throws 400 for an invalid one, or one with lookaround or backreferences.
 */
export function compileIgnorePatterns(
  patterns: readonly string[] = [],
): ((line: string) => boolean)[] {
  return patterns.map((pattern, i) => {
    try {
      return compilePattern(pattern);
    } catch (cause) {
      throw errors.badPattern(
        { pattern: JSON.stringify(pattern), problem: (cause as Error).message },
        { param: `source.ignore[${i}]`, cause },
      );
    }
  });
}

/** Removes the lines that match one of the patterns, and white space at the ends of lines. */
export async function removeIgnoredLines(
  text: string,
  patterns: readonly string[] | undefined,
): Promise<string> {
  const matchers = compileIgnorePatterns(patterns);
  return changeLines(text, (line) => {
    const trimmed = line.trimEnd();
    return matchers.some((matches) => matches(trimmed)) ? undefined : trimmed;
  });
}
