/** Reads one hook directory: its `HOOK.md`, its handler's file, and whether it is safe to load. */
import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { discover, type Found, type Root, sourceNames } from "../../extensions/discover.ts";
import { whyUnsafe } from "../../extensions/safety.ts";
import type { HookMeta } from "./front-matter.ts";
import { createMetaReader, type ReadMeta } from "./meta-cache.ts";
import type { Problem } from "../problem.ts";

export interface Candidate {
  /** Of the front matter; the directory's own where that has none or cannot be read. */
  name: string;
  root: Root;
  /** As it stands below its root. */
  dir: string;
  /** With links resolved. */
  realDir: string;
  meta?: HookMeta;
  /** The text of HOOK.md: part of the hook's version. */
  text: string;
  /** The handler's file. */
  handler?: string;
  warnings: string[];
  /** Why it must not be loaded. */
  refused?: string;
  /** Why it cannot be loaded. */
  problem?: Problem;
}

export const handlerNames = sourceNames("handler", "index");

/** Everything below the roots that is a hook or looks like one, lowest rank first, then by name. */
export function findCandidates(roots: readonly Root[], readMeta: ReadMeta = createMetaReader()): Promise<Candidate[]> {
  // A link to the package's own hooks is no way around their root's safety: every root is looked at by itself.
  return Promise.all(discover(roots, ["HOOK.md", ...handlerNames]).map((found) => readCandidate(found, readMeta)));
}

/** Reads what discovery found. Never throws: what is wrong stands in the candidate. */
async function readCandidate(found: Found, readMeta: ReadMeta): Promise<Candidate> {
  const { dir, realDir, root } = found;
  const handler = handlerNames.map((name) => join(realDir, name)).find((path) => existsSync(path));
  const candidate: Candidate = {
    name: basename(dir),
    root,
    dir,
    realDir,
    text: "",
    handler,
    warnings: [],
    refused: found.refused,
  };
  const descriptor = join(realDir, "HOOK.md");
  try {
    if (basename(found.entry) !== "HOOK.md") {
      candidate.problem = { message: "HOOK.md is missing: it says which events the hook handles", file: descriptor };
      return candidate;
    }
    if (handler) candidate.refused ??= whyUnsafe(realDir, handler, root);
    if (candidate.refused) return candidate;
    candidate.text = readFileSync(descriptor, "utf8");
    const { meta, warnings } = await readMeta(candidate.text);
    Object.assign(candidate, { meta, warnings, name: meta.name ?? candidate.name });
    if (!handler) {
      candidate.problem = { message: `there is no ${handlerNames.slice(0, 5).join(", ")} or index.*`, file: realDir };
    }
  } catch (error) {
    const { line } = error as { line?: number };
    const at = line === undefined ? "HOOK.md: " : `HOOK.md:${line}: `;
    candidate.problem = { message: at + (error as Error).message, file: descriptor, line };
  }
  return candidate;
}
