/**
 * Caches the front matter of HOOK.md files across restarts. A start with unchanged hooks does not load the YAML reader,
 * which is a large part of the cost of a start.
 */
import { join, relative } from "node:path";
import { isBundled } from "../../../files/own.ts";
import { sha } from "../../../files/sha.ts";
import { writeCache, readCached } from "../../../loader/cache.ts";
import type { Paths } from "../../../contract/index.ts";
import type { FrontMatter } from "./front-matter.ts";

/** Reads the text of a HOOK.md. Throws a `LoadError` with its line. */
export type ReadMeta = (file: string, text: string) => Promise<FrontMatter>;

/** The version of the format; increase it when the reading of front matter changes. */
const version = 4;

/**
 * Creates a reader with a cache. The front matter of bundled hooks is stored with the package's bundles, and is part of
 * the installation.
 */
export function createMetaReader({
  package: packageDir,
  state,
}: Pick<Paths, "package" | "state">): ReadMeta {
  return async (file, text) => {
    const isOwn = isBundled(file, packageDir);
    const key = sha(isOwn ? relative(packageDir, file) : file).slice(0, 16);
    const cached = join(isOwn ? join(packageDir, ".build") : state, "cache", `hook-${key}.json`);
    const id = `${version} ${sha(text)}`;
    const stored = readCached<{ id: string; found: FrontMatter }>(cached)?.head;
    if (stored?.id === id) return stored.found;
    const { parseHookMd } = await import("./front-matter.ts");
    const frontMatter = parseHookMd(text);
    writeCache(cached, { id, found: frontMatter }, "");
    return frontMatter;
  };
}
