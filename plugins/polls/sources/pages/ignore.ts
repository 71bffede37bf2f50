/** Lines that do not count. Patterns run in an engine whose time is linear: the text they are tried on is anybody's. */
import { createRequire } from "node:module";
import type { RE2JS } from "re2js";
import { errors } from "../../errors.ts";
import { changeLines } from "../lines.ts";

let engine: typeof RE2JS | undefined;

/** Loaded at first use: its tables of Unicode take megabytes, and few polls have patterns. */
function loadEngine(): typeof RE2JS {
  engine ??= (createRequire(import.meta.url)("re2js") as { RE2JS: typeof RE2JS }).RE2JS;
  return engine;
}

/** Of one line; what lies beyond tells nothing more. */
const MOST_CHARS = 64 * 1024;

/** The patterns of `source.ignore`; throws 400 for one that is none, or that looks ahead, behind or back. */
export function compileIgnored(patterns: readonly string[] = []): ((line: string) => boolean)[] {
  return patterns.map((pattern, i) => {
    try {
      const compiled = loadEngine().compile(pattern);
      return (line) => compiled.matcher(line.slice(0, MOST_CHARS)).find();
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
