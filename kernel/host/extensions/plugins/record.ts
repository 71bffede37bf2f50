/** Describes plugins for display. `missing` returns the services that a plugin needs and no plugin provides. */
import { describe, roundMs, describeState } from "../record.ts";
import type { Slot } from "../slot.ts";
import type { PluginCandidate, PluginVersion } from "./candidate.ts";

type Missing = (candidate: PluginCandidate) => readonly string[];

export function describePluginState(
  slot: Slot<PluginVersion>,
  candidate: PluginCandidate,
  missing: Missing,
) {
  const { name, state, error } = describeState(slot, candidate);
  const isWaiting = state === "loading";
  // An older version keeps running until the services that this one needs are available.
  const isOld = state === "active" && slot.active?.version.candidate.hash !== candidate.hash;
  const services = isWaiting || isOld ? missing(candidate).join(", ") : "";
  const reason = services ? `it needs ${services}, which no active plugin provides` : undefined;
  return { name, state: stateOf(), error: error ?? reason };

  function stateOf() {
    if (isWaiting) return "waiting";
    return isOld && services ? "stale" : state;
  }
}

/** Describes a plugin. It uses Object.assign, because a spread takes forty times as long. */
export function describePlugin(
  slot: Slot<PluginVersion>,
  candidate: PluginCandidate,
  missing: Missing,
) {
  const record = describe(slot, candidate);
  const activeVersion = record.loaded?.dir === candidate.dir ? slot.active : undefined;
  const standing = describePluginState(slot, candidate, missing);
  return Object.assign(record as Omit<typeof record, "loaded" | "shadowedBy" | "state">, standing, {
    description: candidate.meta?.description,
    shadowedBy: record.shadowedBy?.dir,
    loaded: undefined,
    hash: activeVersion?.version.candidate.hash ?? (candidate.hash || undefined),
    generation: activeVersion?.generation ?? (slot.top === candidate ? slot.generation : 0),
    loadedAt: activeVersion?.loadedAt,
    loadMs: candidate.meta && roundMs(candidate.loadMs),
    setupMs: activeVersion && roundMs(activeVersion.version.setupMs ?? 0),
    effects: activeVersion?.scope.effects ?? [],
  });
}

export type PluginRecord = ReturnType<typeof describePlugin>;
