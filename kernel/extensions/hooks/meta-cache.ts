/**
 * What the texts of HOOK.md say, kept over restarts: a start whose hooks are unchanged loads no YAML reader at all,
 * which is a good part of what a start costs.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { writeWhole } from "../../files/write-whole.ts";
import type { FrontMatter } from "./front-matter.ts";

/** Reads a text. Throws `FrontMatterError`. */
export type ReadMeta = (text: string) => Promise<FrontMatter>;

/** Raised when the reading of front matter changes. */
const version = 3;
const kept = 500;

/** Without a file, only the process remembers. Results are shared: nobody changes them. */
export function createMetaReader(file?: string): ReadMeta {
  let known: Map<string, FrontMatter> | undefined;
  return async (text) => {
    known ??= readKnown(file);
    const key = createHash("sha256").update(text).digest("base64url");
    const found = known.get(key);
    if (found) return found;
    const { parseHookMd } = await import("./front-matter.ts");
    const parsed = parseHookMd(text);
    known.set(key, parsed);
    if (!file) return parsed;
    try {
      writeWhole(file, JSON.stringify({ version, known: [...known].slice(-kept) }));
    } catch {
      // a full disk: the next start reads them anew
    }
    return parsed;
  };
}

function readKnown(file: string | undefined): Map<string, FrontMatter> {
  try {
    const saved = JSON.parse(readFileSync(file ?? "", "utf8")) as { version: number; known: [string, FrontMatter][] };
    if (saved.version === version) return new Map(saved.known);
  } catch {
    // none yet, torn, or of another version: read anew
  }
  return new Map();
}
