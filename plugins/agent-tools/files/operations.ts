/** The operations of the tool `files`. */
import { stat } from "node:fs/promises";
import { relative } from "node:path";
import { errors } from "../errors.ts";
import { type OwnWords, ownWords } from "portico/agent";
import { clip, fitsPattern } from "portico/strings";
import { resolveExisting, resolvePlace, prepareWrite } from "./confine.ts";
import type { GuardedPlace } from "./rules.ts";
import { MAX_BYTES, readText, writeText } from "./text-file.ts";
import { walk } from "./walk.ts";

const MAX_ENTRIES = 1_000;
const MAX_HITS = 200;
const MAX_SEARCHED_FILES = 10_000;
const MAX_SEARCHED_BYTES = 50_000_000;
const LINE_CHARS = 300;
/** The search does not descend further, because people do not create deeper trees. */
const MAX_DEPTH = 32;

/** Returns lines from `offset` on (the first is 1), unchanged. */
export async function read(
  place: GuardedPlace,
  path: string,
  range: { offset?: number; limit?: number },
): Promise<string> {
  const text = await readText(await resolveExisting(place, path));
  if (range.offset === undefined && range.limit === undefined) return text;
  const begin = (range.offset ?? 1) - 1;
  const lines = text.split("\n");
  if (begin >= lines.length)
    throw errors.offsetBeyondEnd({ lines: lines.length }, { param: "offset" });
  return lines.slice(begin, begin + (range.limit ?? lines.length)).join("\n");
}

export async function write(place: GuardedPlace, path: string, content: string): Promise<OwnWords> {
  const bytes = Buffer.byteLength(content);
  if (bytes > MAX_BYTES) throw errors.contentTooLarge({ max: MAX_BYTES }, { param: "content" });
  await writeText(await prepareWrite(place, path, bytes), content);
  return ownWords(`Wrote ${path}.`);
}

/** Replaces text in a file. `old` must occur exactly once, unless `all` is set. */
export async function edit(
  place: GuardedPlace,
  path: string,
  change: { old: string; new: string; all?: boolean },
): Promise<OwnWords> {
  const real = await resolveExisting(place, path);
  const text = await readText(real);
  const parts = text.split(change.old);
  const times = parts.length - 1;
  if (times === 0) throw errors.textNotInFile({ param: "old" });
  if (times > 1 && !change.all) throw errors.textNotUnique({ times }, { param: "old" });
  // The size is checked before the new content exists, because many replacements by a long text need much memory.
  const growth = times * (Buffer.byteLength(change.new) - Buffer.byteLength(change.old));
  if (Buffer.byteLength(text) + growth > MAX_BYTES)
    throw errors.contentTooLarge({ max: MAX_BYTES }, { param: "new" });
  await writeText(await prepareWrite(place, real, Math.max(0, growth)), parts.join(change.new));
  return ownWords(`Changed ${path} in ${times} ${times === 1 ? "place" : "places"}.`);
}

/** Returns one line for each entry. A directory ends in `/`. */
export async function list(
  place: GuardedPlace,
  path: string,
  depth: number,
  signal: AbortSignal,
): Promise<string | OwnWords> {
  const dir = await resolveExisting(place, path);
  if (!(await stat(dir)).isDirectory()) throw errors.fileListed({ param: "path" });
  const resolved = await resolvePlace(place);
  const lines: string[] = [];
  for await (const { path: entryPath, kind } of walk(dir, resolved, { depth, signal })) {
    if (lines.length === MAX_ENTRIES)
      return [...lines, `(more than ${MAX_ENTRIES}: name a directory)`].join("\n");
    lines.push(
      JSON.stringify(relative(resolved.root, entryPath)).slice(1, -1) +
        (kind === "directory" ? "/" : ""),
    );
  }
  return lines.length === 0 ? ownWords("(empty)") : lines.join("\n");
}

/** Returns the lines that contain a text, ignoring case, as `path:line: text`. */
export async function search(
  place: GuardedPlace,
  query: { text: string; path: string; glob?: string },
  signal: AbortSignal,
): Promise<string | OwnWords> {
  const text = query.text.toLowerCase();
  const resolved = await resolvePlace(place);
  const start = await resolveExisting(place, query.path);
  const hits: string[] = [];
  let files = 0;
  let bytes = 0;
  const searchFile = async (path: string): Promise<void> => {
    // A file that was removed in the meantime has no lines.
    bytes += (await stat(path).catch(() => undefined))?.size ?? 0;
    const content = await readText(path).catch(() => "");
    for (const [index, line] of content.split("\n").entries())
      if (hits.length <= MAX_HITS && line.toLowerCase().includes(text))
        hits.push(
          `${relative(resolved.root, path)}:${index + 1}: ${clip(line.trim(), LINE_CHARS)}`,
        );
  };
  if ((await stat(start)).isFile()) await searchFile(start);
  else
    for await (const { path, kind } of walk(start, resolved, { depth: MAX_DEPTH, signal })) {
      const name = relative(start, path);
      if (kind !== "file" || (query.glob !== undefined && !fitsPattern(query.glob, name))) continue;
      if (hits.length > MAX_HITS || ++files > MAX_SEARCHED_FILES || bytes > MAX_SEARCHED_BYTES) {
        hits.push("(there may be more: name a directory, or search for more words)");
        break;
      }
      await searchFile(path);
    }
  return hits.length === 0 ? ownWords("(no match)") : hits.join("\n");
}
