/** Compares texts line by line. This is the only importer of diff. */
import { createRequire } from "node:module";

const MAX_CHARS = 8_000;
/**
 * If more lines than this differ, their order is ignored, because the time grows with the square of their number (2,000
 * take 1.4 s, this many 0.1 s), and most of them would be clipped.
 */
const MAX_EDITS = 500;

/** Returns the removed (`- `) and added (`+ `) lines in order, clipped to 8,000 characters. */
export function diffLines(before: string, after: string): string {
  const [oldLines, newLines] = [before.split("\n"), after.split("\n")];
  // The library is loaded at first use, because most polls check lists.
  const { diffArrays } = createRequire(import.meta.url)("diff") as typeof import("diff");
  const changes = diffArrays(oldLines, newLines, { maxEditLength: MAX_EDITS });
  const lines =
    changes?.flatMap(({ added, removed, value }) =>
      added || removed ? value.map((line) => `${added ? "+" : "-"} ${line}`) : [],
    ) ?? diffUnordered(oldLines, newLines);
  const text = lines.join("\n");
  return text.length > MAX_CHARS
    ? `${text.slice(0, MAX_CHARS)}\n… (${text.length - MAX_CHARS} more characters)`
    : text;
}

/** Returns the lines that only one of the texts has. */
function diffUnordered(oldLines: readonly string[], newLines: readonly string[]): string[] {
  const [oldSet, newSet] = [new Set(oldLines), new Set(newLines)];
  return [
    ...oldLines.filter((line) => !newSet.has(line)).map((line) => `- ${line}`),
    ...newLines.filter((line) => !oldSet.has(line)).map((line) => `+ ${line}`),
  ];
}
