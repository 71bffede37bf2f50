/** One loaded version of a hook: loaded off to the side, then put in force, then disposed of. */
import { createHash } from "node:crypto";
import { withDeadline } from "../../timing/deadline.ts";
import { runBounded } from "../../extensions/bounded.ts";
import { evaluateBundle, evaluateGuarded } from "../../extensions/evaluate.ts";
import { createLoopGuard } from "../../extensions/loop-guard.ts";
import { LoadError, type Loader } from "../../extensions/load.ts";
import { UnsafeError, whyInputsUnsafe } from "../../extensions/safety.ts";
import { runAs } from "../../owner.ts";
import type { Dispose } from "../../types.ts";
import type { Candidate } from "../on-disk/candidate.ts";
import type { HookMeta } from "../on-disk/front-matter.ts";
import type { Handler } from "./invoke.ts";

export interface Version {
  candidate: Candidate;
  meta: HookMeta;
  /** Changes when HOOK.md or any file of the bundle does. */
  hash: string;
  inputs: readonly string[];
  handler: Handler;
  dispose?: () => unknown;
  /** How long its loops may block everything else. */
  limitLoops(ms: number): void;
  loadMs: number;
  /** Aborted when it is not to be used any more. */
  ended: AbortController;
  /** Calls that have not come back yet. */
  inFlight: Set<Promise<unknown>>;
}

/** A version in force. */
export interface Activation extends Version {
  generation: number;
  loadedAt: string;
  /** Priority and deadline that it is registered with, as one text. */
  registration: string;
  /** Takes its handlers off the bus. */
  unregister: Dispose[];
}

/** A module that blocks while it is evaluated is interrupted after this. */
const evaluateLimitMs = 2000;
const disposeLimitMs = 5000;
/** The loop guard, which can name the place, comes first; the time limit from outside this much later. */
export const backstopMs = 200;

/** The version that is on disk now, without running it. Throws `LoadError` or `UnsafeError`. */
export async function versionOnDisk(
  candidate: Candidate,
  loader: Loader,
): Promise<{ hash: string; inputs: readonly string[] }> {
  const { hash, inputs } = await loader.compile(entryOf(candidate));
  const unsafe = whyInputsUnsafe(candidate, inputs);
  if (unsafe) throw new UnsafeError(unsafe);
  return { hash: `${hash}-${hashText(candidate.text)}`, inputs };
}

/**
 * Loads and checks a version; what runs is not touched. Whoever does not put it in force ends it with `endVersion`.
 * Throws `LoadError` or `UnsafeError`.
 */
export async function loadVersion(candidate: Candidate, loader: Loader): Promise<Version> {
  const { meta } = candidate;
  if (!meta) throw new LoadError("HOOK.md cannot be read", candidate.dir);
  const began = performance.now();
  const entry = entryOf(candidate);
  const { inputs } = await versionOnDisk(candidate, loader);
  const loops = createLoopGuard(evaluateLimitMs);
  const bundled = candidate.root.name === "bundled";
  const owner = `hook:${candidate.name}`;
  const module = await loader.load(entry, (code, file) => {
    if (bundled) return evaluateBundle(code, file);
    const run = evaluateGuarded(code, file, loops.tick);
    return (...args) => runBounded(() => runAs(owner, () => run(...args)), evaluateLimitMs + backstopMs);
  });
  loops.limit(meta.timeoutMs);
  const handler = findHandler(module.exports, meta.export, entry);
  const dispose = module.exports?.["dispose"];
  return {
    candidate,
    meta,
    hash: `${module.hash}-${hashText(candidate.text)}`,
    inputs,
    handler,
    limitLoops: loops.limit,
    ...(typeof dispose === "function" ? { dispose: dispose as () => unknown } : {}),
    loadMs: performance.now() - began,
    ended: new AbortController(),
    inFlight: new Set(),
  };
}

function entryOf(candidate: Candidate): string {
  if (candidate.problem) throw new LoadError(candidate.problem.message, candidate.problem.file, candidate.problem.line);
  return candidate.handler as string;
}

function findHandler(exports: unknown, name: string | undefined, entry: string): Handler {
  // A CommonJS handler may be the module itself: module.exports = function.
  if (typeof exports === "function" && (name === undefined || name === "default")) return exports as Handler;
  const members = (exports ?? {}) as Record<string, unknown>;
  let found = members[name ?? "default"];
  // `export default` compiled by somebody else, inside a CommonJS module.
  if (typeof found === "object" && found !== null && name === undefined)
    found = (found as Record<string, unknown>)["default"];
  if (typeof found === "function") return found as Handler;
  const there = Object.keys(members);
  const has = there.length ? `it exports ${there.join(", ")}` : "it exports nothing";
  throw new LoadError(
    name === undefined
      ? `the handler has no default export that is a function (${has}): write export default async (event, ctx) => { … }`
      : `the handler has no function named ${name}, which HOOK.md asks for with "export" (${has})`,
    entry,
    1,
  );
}

/** Waits for its running calls (each has a deadline), then lets it clean up. Answers what went wrong in that. */
export async function endVersion({ ended, inFlight, dispose, candidate }: Version): Promise<Error | undefined> {
  ended.abort();
  await Promise.allSettled([...inFlight]);
  if (!dispose) return undefined;
  try {
    const work = runAs(`hook:${candidate.name}`, () => runBounded(dispose, evaluateLimitMs));
    await withDeadline(work, disposeLimitMs, () => new Error(`dispose did not finish in ${disposeLimitMs} ms`));
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function hashText(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}
