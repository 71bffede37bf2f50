/** What is known about a hook. */
import type { HookInfo } from "../../contract/records.ts";
import type { Loader } from "../load/load.ts";
import { problemOf } from "../problem.ts";
import { describe, type Described } from "../record.ts";
import type { HookCandidate } from "./candidate.ts";
import type { Permission } from "./permission.ts";
import { endVersion, type HookSlot, type HookVersion, loadHook, newHealth } from "./version.ts";

export function describeHook(
  slot: Described<HookVersion> & Pick<HookSlot, "health">,
  candidate: HookCandidate,
  { permission, loader }: { permission: Permission; loader: Loader },
): HookInfo {
  const record = describe(slot, candidate);
  const { name } = slot;
  const { meta, text, realDir, handler, warnings, refused, problem } = candidate;
  const { failuresInARow, lastError, tripped } = slot.health;
  const counts = record.loaded !== undefined || slot.top === candidate;
  const rests = `it failed ${failuresInARow} times in a row and rests until it changes or \`portico hooks enable ${name}\``;
  const isResting = record.state === "active" && slot.top === candidate && tripped;
  return {
    ...record,
    ...(isResting && { state: "resting", error: rests, file: lastError?.file, line: lastError?.line }),
    meta,
    text,
    descriptor: `${realDir}/HOOK.md`,
    handler,
    enabled: permission.isEnabled(name, candidate),
    ...permission.limitsOf(name, meta),
    health: counts ? slot.health : newHealth(),
    warnings,
    refused,
    problem,
    missing: () => permission.missing(name, candidate),
    isApproved: () => permission.mayRun(candidate),
    async load() {
      try {
        await endVersion(await loadHook(candidate, loader));
        return undefined;
      } catch (thrown) {
        return problemOf(thrown, realDir, handler);
      }
    },
  };
}
