/** Describes hooks for display. */
import { isInside } from "../../../files/own.ts";
import type { Loader } from "../../../loader/load.ts";
import { type Problem, toProblem } from "../../../loader/problem.ts";
import { describe, type DescribedSlot, describeState } from "../record.ts";
import type { HookCandidate } from "./candidate.ts";
import type { Permission } from "./permission.ts";
import { endVersion, type HookSlot, type HookVersion, loadHook, createHealth } from "./version.ts";

type DescribedHook = DescribedSlot<HookVersion> & Pick<HookSlot, "health">;

export function hookStanding(slot: DescribedHook, candidate: HookCandidate) {
  const standing = describeState(slot, candidate);
  const { failuresInARow, lastError, tripped } = slot.health;
  if (!tripped || !standing.isTop || standing.state !== "active") return standing;
  const error = `it failed ${failuresInARow} times in a row, so it will not be called until you change it or run \`portico hooks enable ${slot.name}\``;
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
  const hasHealth = record.loaded !== undefined || slot.top === candidate;
  // Several objects spread into one take ten times as long, and lists have hundreds.
  return Object.assign(record, permission.limitsOf(name, meta), {
    /** The front matter of HOOK.md; undefined if it is invalid. `text` is its text, `descriptor` its path. */
    meta,
    text,
    descriptor: `${realDir}/HOOK.md`,
    handler,
    outsideInputs: listOutsideInputs(candidate),
    enabled: permission.isEnabled(name, candidate),
    health: hasHealth ? slot.health : createHealth(),
    warnings,
    /** The reason why the hook is unsafe to load; `problem` says why it cannot be loaded. */
    refused,
    problem,
    /** Lists the requirements that are not met, one line each. */
    missing: () => permission.missing(name, candidate),
    /** False while the content waits for approval: none of it may be evaluated. */
    isApproved: () => permission.mayRun(candidate),
    /** Loads the code without activating it, disposes of it, and returns the problem, if any. */
    load: (): Promise<Problem | undefined> => tryToLoad(candidate, loader),
  });
}

async function tryToLoad(candidate: HookCandidate, loader: Loader): Promise<Problem | undefined> {
  try {
    await endVersion(await loadHook(candidate, loader));
    return undefined;
  } catch (thrown) {
    return toProblem(thrown, candidate.realDir, candidate.handler);
  }
}

/** Lists the files outside a hook's directory that its code includes; a package counts as its directory. */
function listOutsideInputs({ source, realDir }: HookCandidate): string[] {
  const outsidePaths = (source?.inputs ?? []).filter((path) => !isInside(path, realDir));
  const PACKAGE = /^.*[\\/]node_modules[\\/](@[^\\/]+[\\/])?[^\\/]+/;
  return [...new Set(outsidePaths.map((path) => PACKAGE.exec(path)?.[0] ?? path))].sort();
}

/** The host's information about a hook. Another module decides how to show it. */
export type HookInfo = ReturnType<typeof describeHook>;
