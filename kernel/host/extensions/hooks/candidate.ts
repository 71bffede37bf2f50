/** Reads one hook directory: its `HOOK.md`, its handler's code, and whether they are safe to load. Runs none of it. */
import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { type ExtensionDirectory, listSourceNames } from "../discover.ts";
import { sha } from "../../../files/sha.ts";
import type { Loader } from "../../../loader/load.ts";
import { LoadError, toProblem } from "../../../loader/problem.ts";
import { findInputProblem, findSafetyProblem } from "../safety.ts";
import type { Candidate } from "../slot.ts";
import { fingerprint } from "./approvals.ts";
import type { HookMeta } from "./front-matter.ts";
import type { ReadMeta } from "./meta-cache.ts";

export interface HookCandidate extends Candidate<HookMeta> {
  /** The text of HOOK.md, which is part of the hook's version. */
  text: string;
  guessedRole?: Role | undefined;
  /** The handler's file. */
  handler?: string;
  /** The hash that the owner approves. Only hooks that need an approval have one. */
  fingerprint?: string;
}

/** The members of the front matter that determine a hook's registration on the bus. */
export type Role = Pick<HookMeta, "events" | "priority" | "timeoutMs" | "failClosed">;

export interface Reading {
  loader: Loader;
  readMeta: ReadMeta;
  /** Bundles the hook with all its dependencies, so that it can be approved. */
  includesPackages: boolean;
}

const handlerNames = listSourceNames("handler", "index");
export const hookEntryNames = ["HOOK.md", ...handlerNames];

/** Whether the hook's run time must be limited; the package's own hooks are trusted. */
export const isGuarded = ({ root }: Pick<ExtensionDirectory, "root">): boolean =>
  root.name !== "bundled";

/** Reads a directory that discovery found. Never throws: the candidate holds the problem. */
export async function readHook(
  directory: ExtensionDirectory,
  reading: Reading,
): Promise<HookCandidate> {
  const handler = handlerNames
    .map((name) => join(directory.realDir, name))
    .find((path) => existsSync(path));
  const candidate: HookCandidate = { ...directory, text: "", handler, hash: "", warnings: [] };
  try {
    await readInto(candidate, reading);
  } catch (thrown) {
    candidate.problem = toProblem(thrown, directory.realDir, handler);
  }
  return candidate;
}

async function readInto(
  candidate: HookCandidate,
  { loader, readMeta, includesPackages }: Reading,
): Promise<void> {
  const { realDir, root, entry, handler } = candidate;
  const descriptor = join(realDir, "HOOK.md");
  if (basename(entry) !== "HOOK.md")
    throw new LoadError(
      "HOOK.md, which names the events that the hook handles, is missing",
      descriptor,
    );
  if (candidate.refused) return;
  try {
    candidate.text = readFileSync(descriptor, "utf8");
    const { meta, warnings } = await readMeta(descriptor, candidate.text);
    Object.assign(candidate, { meta, warnings, name: meta.name ?? candidate.name });
  } catch (error) {
    candidate.guessedRole = guessRole(candidate.text.slice(0, 10_000));
    const { line, message } = error as Error & { line?: number };
    throw new LoadError(
      `HOOK.md${line === undefined ? "" : `:${line}`}: ${message}`,
      descriptor,
      line,
    );
  }
  if (handler) candidate.refused = findSafetyProblem(realDir, handler, root);
  if (candidate.refused) return;
  if (!handler)
    throw new LoadError(`there is no ${handlerNames.slice(0, 5).join(", ")} or index.*`, realDir);
  const source = await loader.read(handler, { includesPackages, guarded: isGuarded(candidate) });
  candidate.source = source;
  candidate.hash = `${source.hash}-${sha(candidate.text).slice(0, 8)}`;
  candidate.refused = findInputProblem(root, realDir, source.inputs);
  const content = [candidate.text, source.hash, source.bundle.codeHash];
  if (includesPackages) candidate.fingerprint = sha([...content, fingerprint(realDir)].join("\n"));
}

/**
 * Guesses the role of a HOOK.md that is invalid but mentions `failClosed`: the events that it names are to be refused,
 * with the highest priority.
 */
function guessRole(text: string): Role | undefined {
  const failClosed = /^[^#\n]*\bfailClosed["']?\s*:\s*(?!\s|["']?false)/m.test(text);
  const events = text.match(/\b[a-z]+:(?:[a-z]+|\*)/g) ?? [];
  return failClosed
    ? { events, failClosed, priority: Number.POSITIVE_INFINITY, timeoutMs: 5000 }
    : undefined;
}
