/** What is shown of a plugin. */
import { describe, rounded } from "../record.ts";
import type { Slot } from "../slot.ts";
import type { PluginCandidate, PluginVersion } from "./candidate.ts";

/** `missing`: services that it needs and nobody provides. Assigned, for to spread it takes forty times as long. */
export function describePlugin(slot: Slot<PluginVersion>, candidate: PluginCandidate, missing: readonly string[]) {
  const record = describe(slot, candidate);
  const waits = record.state === "loading";
  const lacks = `it needs ${missing.join(", ")}, which no active plugin provides`;
  const runs = record.loaded?.dir === candidate.dir ? slot.active : undefined;
  // an older version runs until what this one needs is there
  const isBehind = record.state === "active" && missing.length > 0 && runs?.version.candidate.hash !== candidate.hash;
  return Object.assign(record as Omit<typeof record, "loaded" | "shadowedBy">, {
    state: waits ? ("waiting" as const) : isBehind ? ("stale" as const) : record.state,
    error: record.error ?? ((waits || isBehind) && missing.length ? lacks : undefined),
    description: candidate.meta?.description,
    shadowedBy: record.shadowedBy?.dir,
    loaded: undefined,
    hash: runs?.version.candidate.hash ?? (candidate.hash || undefined),
    generation: runs?.generation ?? (slot.top === candidate ? slot.generation : 0),
    loadedAt: runs?.loadedAt,
    loadMs: candidate.meta && rounded(candidate.loadMs),
    setupMs: runs && rounded(runs.version.setupMs ?? 0),
    effects: runs?.scope.effects ?? [],
  });
}

export type PluginRecord = ReturnType<typeof describePlugin>;
