/** Maps the positions in a failure's stack to the sources. */
import { existsSync, readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { dirname, resolve } from "node:path";

/** Replaces positions in compiled files by those in the sources. A position in a file without a map stays unchanged. */
export function inSources(text: string): string {
  return text.replace(
    /(?:file:\/\/)?(\/[^\s:()]+\.js):(\d+):(\d+)/g,
    (position, file: string, line: string, column: string) => {
      if (!existsSync(`${file}.map`)) return position;
      const map = new SourceMap(JSON.parse(readFileSync(`${file}.map`, "utf8")));
      const found = map.findEntry(Number(line) - 1, Number(column) - 1);
      if (!("originalSource" in found)) return position;
      const source = resolve(dirname(file), found.originalSource);
      return `${source}:${found.originalLine + 1}:${found.originalColumn + 1}`;
    },
  );
}
