/** What is known about a hook. */
import type { Loader } from "../../modules/load.ts";
import { type Problem, problemOf } from "../../modules/problem.ts";
import { describe, type Described } from "../record.ts";
import type { HookCandidate } from "./candidate.ts";
import type { Permission } from "./permission.ts";
import { endVersion, type HookSlot, type HookVersion, loadHook, newHealth } from "./version.ts";

export function describeHook(
  slot: Described<HookVersion> & Pick<HookSlot, "health">,
  candidate: HookCandidate,
  { permission, loader }: { permission: Permission; loader: Loader },
) {
  const record = describe(slot, candidate);
  const { name } = slot;
  const { meta, text, realDir, handler, warnings, refused, problem } = candidate;
  const { failuresInARow, lastError, tripped } = slot.health;
  const counts = record.loaded !== undefined || slot.top === candidate;
  const rests = `it failed ${failuresInARow} times in a row and rests until it changes or \`portico hooks enable ${name}\``;
  if (record.state === "active" && slot.top === candidate && tripped)
    Object.assign(record, { state: "resting", error: rests, file: lastError?.file, line: lastError?.line });
  // Several objects spread into one take ten times as long, and lists have hundreds.
  return Object.assign(record, permission.limitsOf(name, meta), {
    /** As HOOK.md says; undefined where it cannot be read. Its text, and its file. */
    meta,
    text,
    descriptor: `${realDir}/HOOK.md`,
    handler,
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
    load: (): Promise<Problem | void> =>
      loadHook(candidate, loader)
        .then(endVersion)
        .catch((thrown) => problemOf(thrown, realDir, handler)),
  });
}
/** What the host knows of a hook: how it is shown is somebody else's. */
export type HookInfo = ReturnType<typeof describeHook>;
