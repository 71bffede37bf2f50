/** What is known about a hook. */
import { isInside } from "../../../files/own.ts";
import type { Loader } from "../../../loader/load.ts";
import { type Problem, problemOf } from "../../../loader/problem.ts";
import { describe, type Described, standingOf } from "../record.ts";
import type { HookCandidate } from "./candidate.ts";
import type { Permission } from "./permission.ts";
import { endVersion, type HookSlot, type HookVersion, loadHook, newHealth } from "./version.ts";

type DescribedHook = Described<HookVersion> & Pick<HookSlot, "health">;

export function hookStanding(slot: DescribedHook, candidate: HookCandidate) {
  const standing = standingOf(slot, candidate);
  const { failuresInARow, lastError, tripped } = slot.health;
  if (!tripped || !standing.isTop || standing.state !== "active") return standing;
  const error = `it failed ${failuresInARow} times in a row, so it is not called until it changes or you run \`portico hooks enable ${slot.name}\``;
  return Object.assign(standing, { state: "resting" as const, error, problem: lastError });
}

export function describeHook(
  slot: DescribedHook,
  candidate: HookCandidate,
  { permission, loader }: { permission: Permission; loader: Loader },
) {
  const record = describe(slot, candidate, hookStanding(slot, candidate));
  const { name } = slot;
  const { meta, text, realDir, handler, warnings, refused, problem } = candidate;
  const counts = record.loaded !== undefined || slot.top === candidate;
  // Several objects spread into one take ten times as long, and lists have hundreds.
  return Object.assign(record, permission.limitsOf(name, meta), {
    /** As HOOK.md says; undefined where it cannot be read. Its text, and its file. */
    meta,
    text,
    descriptor: `${realDir}/HOOK.md`,
    handler,
    outsideInputs: outsideInputs(candidate),
    enabled: permission.isEnabled(name, candidate),
    health: counts ? slot.health : newHealth(),
    warnings,
    /** Why it is unsafe to load, or cannot be loaded. */
    refused,
    problem,
    /** What it requires and lacks, one line each. */
    missing: () => permission.missing(name, candidate),
    /** False where its content waits for its approval: nothing of it may be evaluated. */
    isApproved: () => permission.mayRun(candidate),
    /** Loads its code off to the side, and ends it; what is wrong with it. */
    load: (): Promise<Problem | undefined> => tryToLoad(candidate, loader),
  });
}

async function tryToLoad(candidate: HookCandidate, loader: Loader): Promise<Problem | undefined> {
  try {
    await endVersion(await loadHook(candidate, loader));
    return undefined;
  } catch (thrown) {
    return problemOf(thrown, candidate.realDir, candidate.handler);
  }
}

/** The files outside a hook's directory that its code consists of; a package counts as its directory. */
function outsideInputs({ source, realDir }: HookCandidate): string[] {
  const outside = (source?.inputs ?? []).filter((path) => !isInside(path, realDir));
  const PACKAGE = /^.*[\\/]node_modules[\\/](@[^\\/]+[\\/])?[^\\/]+/;
  return [...new Set(outside.map((path) => PACKAGE.exec(path)?.[0] ?? path))].sort();
}

/** What the host knows of a hook. Another module decides how to show it. */
export type HookInfo = ReturnType<typeof describeHook>;
