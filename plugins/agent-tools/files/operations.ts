/** What the tool `files` does. */
import { stat } from "node:fs/promises";
import { relative } from "node:path";
import { errors } from "../errors.ts";
import { type OwnWords, ownWords } from "portico/agent";
import { clip, fitsPattern } from "portico/strings";
import { existing, groundOf, writable } from "./confine.ts";
import type { GuardedPlace } from "./rules.ts";
import { MOST_BYTES, readText, writeText } from "./text-file.ts";
import { walk } from "./walk.ts";

const MOST_ENTRIES = 1_000;
const MOST_HITS = 200;
const MOST_SEARCHED = 10_000;
const MOST_SEARCHED_BYTES = 50_000_000;
const LINE_CHARS = 300;
/** Deeper trees are none of a person's. */
const MOST_DEPTH = 32;

/** Lines from `offset` (the first is 1), unchanged. */
export async function read(
  place: GuardedPlace,
  path: string,
  range: { offset?: number; limit?: number },
): Promise<string> {
  const text = await readText(await existing(place, path));
  if (range.offset === undefined && range.limit === undefined) return text;
  const begin = (range.offset ?? 1) - 1;
  const lines = text.split("\n");
  if (begin >= lines.length)
    throw errors.offsetBeyondEnd({ lines: lines.length }, { param: "offset" });
  return lines.slice(begin, begin + (range.limit ?? lines.length)).join("\n");
}

export async function write(place: GuardedPlace, path: string, content: string): Promise<OwnWords> {
  const bytes = Buffer.byteLength(content);
  if (bytes > MOST_BYTES) throw errors.contentTooLarge({ max: MOST_BYTES }, { param: "content" });
  await writeText(await writable(place, path, bytes), content);
  return ownWords(`Wrote ${path}.`);
}

/** `old` must occur in the file exactly once, unless `all` is set. */
export async function edit(
  place: GuardedPlace,
  path: string,
  change: { old: string; new: string; all?: boolean },
): Promise<OwnWords> {
  const real = await existing(place, path);
  const parts = (await readText(real)).split(change.old);
  const times = parts.length - 1;
  if (times === 0) throw errors.textNotInFile({ param: "old" });
  if (times > 1 && !change.all) throw errors.textNotUnique({ times }, { param: "old" });
  const size = parts.reduce((sum, part) => sum + part.length, 0) + times * change.new.length;
  if (size > MOST_BYTES) throw errors.contentTooLarge({ max: MOST_BYTES }, { param: "new" });
  const growth = Math.max(0, times * (change.new.length - change.old.length));
  await writeText(await writable(place, real, growth), parts.join(change.new));
  return ownWords(`Changed ${path} in ${times} ${times === 1 ? "place" : "places"}.`);
}

/** One line for each entry; a directory ends in `/`. */
export async function list(
  place: GuardedPlace,
  path: string,
  depth: number,
  signal: AbortSignal,
): Promise<string | OwnWords> {
  const dir = await existing(place, path);
  if (!(await stat(dir)).isDirectory()) throw errors.fileListed({ param: "path" });
  const ground = await groundOf(place);
  const lines: string[] = [];
  for await (const { path: found, kind } of walk(dir, ground, { depth, signal })) {
    if (lines.length === MOST_ENTRIES)
      return [...lines, `(more than ${MOST_ENTRIES}: name a directory)`].join("\n");
    lines.push(
      JSON.stringify(relative(ground.root, found)).slice(1, -1) + (kind === "directory" ? "/" : ""),
    );
  }
  return lines.length === 0 ? ownWords("(empty)") : lines.join("\n");
}

/** Lines that hold a text, in small or capital letters, as `path:line: text`. */
export async function search(
  place: GuardedPlace,
  wanted: { text: string; path: string; glob?: string },
  signal: AbortSignal,
): Promise<string | OwnWords> {
  const text = wanted.text.toLowerCase();
  const ground = await groundOf(place);
  const start = await existing(place, wanted.path);
  const hits: string[] = [];
  let files = 0;
  let bytes = 0;
  const inFile = async (path: string): Promise<void> => {
    // A file that was removed in the meantime has no lines.
    bytes += (await stat(path).catch(() => undefined))?.size ?? 0;
    const content = await readText(path).catch(() => "");
    for (const [index, line] of content.split("\n").entries())
      if (hits.length <= MOST_HITS && line.toLowerCase().includes(text))
        hits.push(`${relative(ground.root, path)}:${index + 1}: ${clip(line.trim(), LINE_CHARS)}`);
  };
  if ((await stat(start)).isFile()) await inFile(start);
  else
    for await (const { path, kind } of walk(start, ground, { depth: MOST_DEPTH, signal })) {
      const name = relative(start, path);
      if (kind !== "file" || (wanted.glob !== undefined && !fitsPattern(wanted.glob, name)))
        continue;
      if (hits.length > MOST_HITS || ++files > MOST_SEARCHED || bytes > MOST_SEARCHED_BYTES) {
        hits.push("(there may be more: name a directory, or search for more words)");
        break;
      }
      await inFile(path);
    }
  return hits.length === 0 ? ownWords("(no match)") : hits.join("\n");
}
