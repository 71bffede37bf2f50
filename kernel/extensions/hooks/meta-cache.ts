/**
 * What the texts of HOOK.md say, kept over restarts: a start whose hooks are unchanged loads no YAML reader at all,
 * which is a good part of what a start costs.
 */
import { join } from "node:path";
import { sha } from "../../modules/bundle.ts";
import { keep, readKept } from "../../modules/cache.ts";
import type { FrontMatter } from "./front-matter.ts";

/** Reads the text of a HOOK.md. Throws a `LoadError` with its line. */
export type ReadMeta = (file: string, text: string) => Promise<FrontMatter>;

/** Raised when the reading of front matter changes. */
const version = 4;

export function createMetaReader(cacheDir: string): ReadMeta {
  return async (file, text) => {
    const cached = join(cacheDir, `hook-${sha(file).slice(0, 16)}.json`);
    const id = `${version} ${sha(text)}`;
    const kept = readKept<{ id: string; found: FrontMatter }>(cached)?.head;
    if (kept?.id === id) return kept.found;
    const { parseHookMd } = await import("./front-matter.ts");
    const found = parseHookMd(text);
    keep(cached, { id, found }, "");
    return found;
  };
}
