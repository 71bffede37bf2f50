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
  /** Every hook that is not bundled is traced: what it leaves behind runs in its asynchronous context. */
  traced: boolean;
  dispose?: () => unknown;
  /** How long its loops may block everything else. */
  loops: LoopGuard;
  /** Aborted when it is not to be used any more. */
  ended: AbortController;
  /** Calls that have not come back yet (a Set's old tables would keep others too), and who waits for the last of them. */
  inFlight: unknown[];
  whenIdle?: () => void;
}

/** How a version begins. */
export const untroubled = { failuresInARow: 0, tripped: false, blocked: false };
export const newHealth = (): Health => ({ runs: 0, failures: 0, ignored: [], ...untroubled });

export interface HookRun {
  /** Milliseconds since 1970: to put it in words for each call would take as long as most handlers do. */
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

/** What a handler asked for and does not get, such as a change of a field that the event does not let hooks change. */
export interface IgnoredEffect {
  event: string;
  /** A sentence that names the events which allow it. */
  message: string;
  count: number;
}

/** How a hook has been doing. */
export interface Health {
  runs: number;
  failures: number;
  lastRun?: HookRun;
  lastError?: HookFailure;
  /** Of the active version. */
  ignored: IgnoredEffect[];
  /** This and what follows begins again with each version. */
  failuresInARow: number;
  /** It failed too often in a row: it is not called (state `resting`). */
  tripped: boolean;
  /** Its handler once had to be interrupted: it gets little time until it succeeds. */
  blocked: boolean;
}

export interface HookSlot extends Slot<HookVersion> {
  /** The last role that HOOK.md declared, for when the file cannot be read any more. */
  lastRole?: Role | undefined;
  /** What is on the bus for it. Without a version, it refuses the events of a hook that has to judge them. */
  listening?: {
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

/** A module that blocks while it is evaluated is interrupted after this. */
const evaluateLimitMs = 2000;
const disposeLimitMs = 5000;
/**
 * Evaluates the code that was read and checks its shape; what runs is not touched. A caller that does not activate it ends
 * it with `endVersion`. Throws `LoadError`.
 */
export async function loadHook(candidate: HookCandidate, loader: Loader): Promise<HookVersion> {
  const { meta, source, problem, refused } = candidate;
  if (refused) throw new LoadError(refused, candidate.dir);
  if (problem || !meta || !source)
    throw new LoadError(problem?.message ?? "", problem?.file, problem?.line);
  const began = performance.now();
  const loops = createLoopGuard(evaluateLimitMs);
  const isUsers = isGuarded(candidate);
  const work = () => loader.evaluate(source, isUsers ? loops : undefined);
  const { exports } = await (isUsers ? runAs(`hook:${candidate.name}`, work) : work());
  loops.limitMs = meta.timeoutMs;
  const handler = findHandler(exports, meta.export, source.entry);
  const dispose = exports?.["dispose"];
  return {
    candidate,
    meta,
    handler,
    traced: isUsers,
    dispose: typeof dispose === "function" ? (dispose as () => unknown) : undefined,
    loops,
    loadMs: performance.now() - began,
    ended: new AbortController(),
    inFlight: [],
  };
}

function findHandler(exports: unknown, name: string | undefined, entry: string): Handler {
  // A CommonJS handler may be the module itself: module.exports = function.
  if (typeof exports === "function" && (name ?? "default") === "default") return exports as Handler;
  const members = (exports ?? {}) as Record<string, unknown>;
  const exported = members[name ?? "default"];
  // `export default` compiled by somebody else, inside a CommonJS module.
  const inner =
    name === undefined && (exported as { default?: unknown } | null | undefined)?.default;
  const handler = typeof exported === "object" && inner ? inner : exported;
  if (typeof handler === "function") return handler as Handler;
  const has = `it exports ${Object.keys(members).join(", ") || "nothing"}`;
  const message = name
    ? `the handler has no function named ${name}, which HOOK.md asks for with "export" (${has})`
    : `the handler has no default export that is a function (${has}): write export default async (event, ctx) => { … }`;
  throw new LoadError(message, entry, 1);
}

/** A call has returned. False if none was running. */
export function leave(version: HookVersion, call: unknown): boolean {
  const at = version.inFlight.indexOf(call);
  if (at >= 0) version.inFlight.splice(at, 1);
  if (version.inFlight.length === 0) version.whenIdle?.();
  return at >= 0;
}

/** Waits for its running calls (each has a deadline), then lets it clean up. Throws what went wrong in that. */
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
