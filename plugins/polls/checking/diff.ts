/** The only importer of diff. */
import { createRequire } from "node:module";

const MAX_CHARS = 8_000;
/**
 * Above this many lines that differ, their order is not looked at: the time grows with the square of them (2,000 take
 * 1.4 s, this many 0.1 s), and most of them would be clipped.
 */
const MOST_EDITS = 500;

/** Lines that went (`- `) and came (`+ `), in order; clipped to 8,000 characters. */
export function lineDiff(before: string, after: string): string {
  const [was, is] = [before.split("\n"), after.split("\n")];
  // Loaded at first use: most polls are of lists.
  const { diffArrays } = createRequire(import.meta.url)("diff") as typeof import("diff");
  const changes = diffArrays(was, is, { maxEditLength: MOST_EDITS });
  const lines =
    changes?.flatMap(({ added, removed, value }) =>
      added || removed ? value.map((line) => `${added ? "+" : "-"} ${line}`) : [],
    ) ?? unordered(was, is);
  const text = lines.join("\n");
  return text.length > MAX_CHARS
    ? `${text.slice(0, MAX_CHARS)}\n… (${text.length - MAX_CHARS} more characters)`
    : text;
}

/** Lines that only one side has. */
function unordered(was: readonly string[], is: readonly string[]): string[] {
  const [had, has] = [new Set(was), new Set(is)];
  return [
    ...was.filter((line) => !has.has(line)).map((line) => `- ${line}`),
    ...is.filter((line) => !had.has(line)).map((line) => `+ ${line}`),
  ];
}
