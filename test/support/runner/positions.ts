/** Maps the positions in a failure's stack to the sources. */
import { existsSync, readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { dirname, resolve } from "node:path";

/** Replaces positions in compiled files by those in the sources. A position in a file without a map stays unchanged. */
export function mapToSources(text: string): string {
  return text.replace(
    /(?:file:\/\/)?(\/[^\s:()]+\.js):(\d+):(\d+)/g,
    (position, file: string, line: string, column: string) => {
      if (!existsSync(`${file}.map`)) return position;
      const map = new SourceMap(JSON.parse(readFileSync(`${file}.map`, "utf8")));
      const entry = map.findEntry(Number(line) - 1, Number(column) - 1);
      if (!("originalSource" in entry)) return position;
      const source = resolve(dirname(file), entry.originalSource);
      return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
    },
  );
}
