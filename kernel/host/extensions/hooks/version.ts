/** One loaded version of a hook: loaded off to the side, then active, then disposed of. */
import { runAs } from "../../owner.ts";
import { withDeadline } from "../../../timing/deadline.ts";
import { runBounded } from "../../../loader/bounded.ts";
import type { Loader } from "../../../loader/load.ts";
import { createLoopGuard, type LoopGuard } from "../../../loader/loop-guard.ts";
import { LoadError, type Problem } from "../../../loader/problem.ts";
import type { Slot, Version } from "../slot.ts";
import type { HookLogLine } from "../../../log/kept-lines.ts";
import type { HookEdition, HookFile } from "./code.ts";
import type { Handler } from "./invoke.ts";
import { type HookCandidate, isGuarded, type Role } from "./candidate.ts";
import type { HookMeta } from "./front-matter.ts";

export interface HookVersion extends Version {
  candidate: HookCandidate;
  /** The texts of its files as they were when it was loaded; undefined for the package's own hooks. */
  files?: Promise<readonly HookFile[]> | undefined;
  meta: HookMeta;
  handler: Handler;
  /** True for every hook that is not bundled: the work that it leaves behind runs in its asynchronous context. */
  traced: boolean;
  dispose?: () => unknown;
  /** Limits the time that its loops may block the process. */
  loops: LoopGuard;
  /** Aborted when the version must no longer be used. */
  ended: AbortController;
  /** The calls in progress. (An array, because the discarded tables of a Set would keep other objects alive.) */
  inFlight: unknown[];
  whenIdle?: () => void;
}

/** The health that a new version begins with. */
export const initialHealth = { failuresInARow: 0, tripped: false, blocked: false };
export const createHealth = (): Health => ({ runs: 0, failures: 0, ignored: [], ...initialHealth });

export interface HookRun {
  /** Milliseconds since 1970. Formatting it for each call would take as long as most handlers do. */
  at: number;
  event: string;
  ms: number;
  ok: boolean;
  error?: string;
}

export interface HookFailure extends Problem {
  at: string;
  event?: string;
  timedOut?: boolean;
}

/** An effect that the event does not allow, such as a change of a field that hooks may not change. */
export interface IgnoredEffect {
  event: string;
  /** A sentence that names the events which allow it. */
  message: string;
  count: number;
}

/** The record of a hook's calls. */
export interface Health {
  runs: number;
  failures: number;
  lastRun?: HookRun;
  lastError?: HookFailure;
  /** The ignored effects of the active version. */
  ignored: IgnoredEffect[];
  /** This member and the following ones are reset with each version. */
  failuresInARow: number;
  /** The hook failed too often in a row and is not called (state `resting`). */
  tripped: boolean;
  /** The handler had to be interrupted, so its calls have a short limit until one succeeds. */
  blocked: boolean;
}

export interface HookSlot extends Slot<HookVersion> {
  /** The last role that HOOK.md declared, for the time when the file becomes invalid. */
  lastRole?: Role | undefined;
  /** The hook's registration on the bus. Without a version, it refuses the events of a `failClosed` hook. */
  registration?: {
    version?: HookVersion;
    meta: Role;
    priority: number;
    timeoutMs: number;
    undo: () => void;
  };
  health: Health;
  /** The versions that were active since the gateway's start, the newest first. */
  editions: readonly HookEdition[];
  lines: readonly HookLogLine[];
}

/** The time after which a module that blocks during its evaluation is interrupted. */
const evaluateLimitMs = 2000;
const disposeLimitMs = 5000;
/**
 * Evaluates the candidate's code and checks its shape, without touching the active version. A caller that does not
 * activate the result ends it with `endVersion`. Throws `LoadError`.
 */
export async function loadHook(candidate: HookCandidate, loader: Loader): Promise<HookVersion> {
  const { meta, source, problem, refused } = candidate;
  if (refused) throw new LoadError(refused, candidate.dir);
  if (problem || !meta || !source)
    throw new LoadError(problem?.message ?? "", problem?.file, problem?.line);
  const startedAt = performance.now();
  const loops = createLoopGuard(evaluateLimitMs);
  const isGuardedHook = isGuarded(candidate);
  const work = () => loader.evaluate(source, isGuardedHook ? loops : undefined);
  const { exports } = await (isGuardedHook ? runAs(`hook:${candidate.name}`, work) : work());
  loops.limitMs = meta.timeoutMs;
  const handler = findHandler(exports, meta.export, source.entry);
  const dispose = exports?.["dispose"];
  return {
    candidate,
    meta,
    handler,
    traced: isGuardedHook,
    dispose: typeof dispose === "function" ? (dispose as () => unknown) : undefined,
    loops,
    loadMs: performance.now() - startedAt,
    ended: new AbortController(),
    inFlight: [],
  };
}

function findHandler(exports: unknown, name: string | undefined, entry: string): Handler {
  // A CommonJS handler may be the module itself: module.exports = function.
  if (typeof exports === "function" && (name ?? "default") === "default") return exports as Handler;
  const members = (exports ?? {}) as Record<string, unknown>;
  const exported = members[name ?? "default"];
  // An `export default` that another compiler placed inside a CommonJS module.
  const nestedDefault =
    name === undefined && (exported as { default?: unknown } | null | undefined)?.default;
  const handler = typeof exported === "object" && nestedDefault ? nestedDefault : exported;
  if (typeof handler === "function") return handler as Handler;
  const exportsText = `it exports ${Object.keys(members).join(", ") || "nothing"}`;
  const message = name
    ? `the handler has no function named ${name}, which HOOK.md names under "export" (${exportsText})`
    : `the handler has no default export that is a function (${exportsText}): write export default async (event, ctx) => { … }`;
  throw new LoadError(message, entry, 1);
}

/** Records the end of a call. Returns false if it was not in progress. */
export function endCall(version: HookVersion, call: unknown): boolean {
  const at = version.inFlight.indexOf(call);
  if (at >= 0) version.inFlight.splice(at, 1);
  if (version.inFlight.length === 0) version.whenIdle?.();
  return at >= 0;
}

/**
 * Waits for the version's calls in progress (each has a deadline), then lets it clean up. Throws the error of the
 * clean-up.
 */
export async function endVersion(version: HookVersion): Promise<void> {
  const { ended, inFlight, dispose, candidate } = version;
  ended.abort();
  if (inFlight.length > 0) await new Promise<void>((resolve) => (version.whenIdle = resolve));
  if (!dispose) return;
  const work = runAs(`hook:${candidate.name}`, () => runBounded(dispose, evaluateLimitMs));
  await withDeadline(
    work,
    disposeLimitMs,
    () => new Error(`dispose did not finish in ${disposeLimitMs} ms`),
  );
}
