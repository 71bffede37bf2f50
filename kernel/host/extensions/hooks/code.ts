/** Reads the files of a hook, and keeps those of earlier versions, so that anyone can see what runs, and since when. */
import { readdir, readFile } from "node:fs/promises";
import { extname, join, relative } from "node:path";
import type { HookCandidate } from "./candidate.ts";

const MAX_VERSIONS = 10;
const MAX_FILES = 20;
const MAX_CHARS = 128 * 1024;
const TEXT_EXTENSIONS = new Set([
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
  /** The path within the hook's directory. */
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
 * Reads the current text files of a hook's directory. Hidden files (`.env`), packages and links are excluded, and so
 * are files that vanish meanwhile or cannot be read.
 */
export async function readFiles({ realDir, refused }: HookCandidate): Promise<HookFile[]> {
  if (refused !== undefined) return [];
  const paths = (await listPaths(realDir)).slice(0, MAX_FILES);
  const files = await Promise.all(paths.map((path) => readText(realDir, path)));
  return files.filter((file) => file !== undefined);
}

async function listPaths(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { withFileTypes: true }).catch(() => []);
  const isIncluded = (name: string) => !name.startsWith(".") && name !== "node_modules";
  const included = entries.filter(({ name }) => isIncluded(name));
  const files = included.filter(
    (entry) => entry.isFile() && TEXT_EXTENSIONS.has(extname(entry.name)),
  );
  const directories = included.filter((entry) => entry.isDirectory());
  const nested = await Promise.all(directories.map(({ name }) => listPaths(join(dir, name))));
  return [...files.map(({ name }) => join(dir, name)), ...nested.flat()];
}

async function readText(dir: string, path: string): Promise<HookFile | undefined> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined || text.length > MAX_CHARS) return undefined;
  return { path: relative(dir, path), text };
}

/** Adds an edition at the front. A version that is loaded again without a change is the same version. */
export function addEdition(
  editions: readonly HookEdition[],
  edition: HookEdition,
): readonly HookEdition[] {
  if (editions[0]?.hash === edition.hash) return editions;
  return [edition, ...editions].slice(0, MAX_VERSIONS);
}
