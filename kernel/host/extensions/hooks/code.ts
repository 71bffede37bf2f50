/** What a hook's files say, and what they said in the versions before: so that anyone can see what runs, and since when. */
import { readdir, readFile } from "node:fs/promises";
import { extname, join, relative } from "node:path";
import type { HookCandidate } from "./candidate.ts";

const MOST_VERSIONS = 10;
const MOST_FILES = 20;
const MOST_BYTES = 128 * 1024;
const TEXTS = new Set([
  ".md",
  ".ts",
  ".mts",
  ".cts",
  ".js",
  ".mjs",
  ".cjs",
  ".json",
  ".yaml",
  ".yml",
]);

export interface HookFile {
  /** Within the hook's directory. */
  path: string;
  text: string;
}

/** A version that was active, with its files as they were when it was loaded. */
export interface HookEdition {
  hash: string;
  /** ISO time. */
  loadedAt: string;
  files: readonly HookFile[];
}

/**
 * The texts of a hook's directory as they are now. Hidden files (`.env`), packages and links stay out. A file that goes
 * meanwhile, or cannot be read, is left out too.
 */
export async function readFiles({ realDir, refused }: HookCandidate): Promise<HookFile[]> {
  if (refused !== undefined) return [];
  const paths = (await pathsBelow(realDir)).slice(0, MOST_FILES);
  const files = await Promise.all(paths.map((path) => readText(realDir, path)));
  return files.filter((file) => file !== undefined);
}

async function pathsBelow(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { withFileTypes: true }).catch(() => []);
  const isOurs = (name: string) => !name.startsWith(".") && name !== "node_modules";
  const own = entries.filter(({ name }) => isOurs(name));
  const files = own.filter((entry) => entry.isFile() && TEXTS.has(extname(entry.name)));
  const below = own.filter((entry) => entry.isDirectory());
  const nested = await Promise.all(below.map(({ name }) => pathsBelow(join(dir, name))));
  return [...files.map(({ name }) => join(dir, name)), ...nested.flat()];
}

async function readText(dir: string, path: string): Promise<HookFile | undefined> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined || text.length > MOST_BYTES) return undefined;
  return { path: relative(dir, path), text };
}

/** The newest first. A version that is loaded again without a change is the same version. */
export function withEdition(
  editions: readonly HookEdition[],
  edition: HookEdition,
): readonly HookEdition[] {
  if (editions[0]?.hash === edition.hash) return editions;
  return [edition, ...editions].slice(0, MOST_VERSIONS);
}
