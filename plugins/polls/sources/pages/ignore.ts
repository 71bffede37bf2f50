/** Lines that do not count. */
import { compilePattern } from "portico/json-schemas";
import { errors } from "../../errors.ts";
import { changeLines } from "../lines.ts";

/** The patterns of `source.ignore`; throws 400 for one that is none, or that looks ahead, behind or back. */
export function compileIgnored(patterns: readonly string[] = []): ((line: string) => boolean)[] {
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

/** Text without the lines that match one of the patterns, and without space at line ends. */
export async function withoutIgnored(
  text: string,
  patterns: readonly string[] | undefined,
): Promise<string> {
  const ignored = compileIgnored(patterns);
  return changeLines(text, (line) => {
    const trimmed = line.trimEnd();
    return ignored.some((matches) => matches(trimmed)) ? undefined : trimmed;
  });
}
