/** Reads what plugins declare for checks of the configuration, whether or not the plugins run. */
import type { LoadCheck } from "../../../config/sections.ts";
import type { PluginCandidate } from "./candidate.ts";

/** Returns by name the candidate that would run, which is the one in the highest root. */
function pickHighest(candidates: readonly PluginCandidate[]): Map<string, PluginCandidate> {
  const highest = new Map<string, PluginCandidate>();
  for (const candidate of candidates) {
    const existing = highest.get(candidate.name);
    if (!existing || existing.root.rank <= candidate.root.rank)
      highest.set(candidate.name, candidate);
  }
  return highest;
}

/** Returns the check of a plugin's sections, unless another directory with that name replaces the plugin. */
export function findCheck(
  candidate: PluginCandidate,
  all: readonly PluginCandidate[],
): LoadCheck | undefined {
  const isReplaced = pickHighest(all).get(candidate.name) !== candidate;
  return isReplaced ? undefined : candidate.meta?.configCheck;
}

/**
 * Returns the names that enabled plugins declare for a contribution point. `isComplete` is false if a user's plugin
 * declares no names: its contributions are only known once it runs.
 */
export function declaredNames(
  candidates: readonly PluginCandidate[],
  isEnabled: (name: string) => boolean,
  point: string,
): { names: string[]; isComplete: boolean } {
  const enabled = [...pickHighest(candidates).values()].filter(({ name }) => isEnabled(name));
  const names = enabled.flatMap(({ meta }) => meta?.names?.[point] ?? []);
  const isComplete = enabled.every(
    ({ root, meta }) => root.name === "bundled" || meta?.names !== undefined,
  );
  return { names, isComplete };
}
