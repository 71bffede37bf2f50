/** The only importer of diff. */
import { createRequire } from "node:module";

/** Above this many lines that differ, their order is not looked at: the time grows with the square of them. */
const MOST_EDITS = 2_000;
const MAX_CHARS = 8_000;

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
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}\n… (${text.length - MAX_CHARS} more characters)` : text;
}

/** Lines that only one side has. */
function unordered(was: readonly string[], is: readonly string[]): string[] {
  const [had, has] = [new Set(was), new Set(is)];
  return [
    ...was.filter((line) => !has.has(line)).map((line) => `- ${line}`),
    ...is.filter((line) => !had.has(line)).map((line) => `+ ${line}`),
  ];
}
