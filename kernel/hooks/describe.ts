/** Turns what is known about a hook into the record that people see. */
import { didYouMean } from "../text/nearest.ts";
import type { EventSpec } from "../types.ts";
import type { Candidate } from "./on-disk/candidate.ts";
import { sayProblem } from "./problem.ts";
import type { HookEventRecord, HookRecord, HookState } from "./record.ts";
import type { HookEntry } from "./settings.ts";
import type { Slot } from "./in-force/slot.ts";

export interface DescribeOptions {
  specs: ReadonlyMap<string, EventSpec>;
  entry: HookEntry;
  hooksEnabled: boolean;
}

/** The record of one claim to a name. */
export function describe(slot: Slot, claim: Candidate, options: DescribeOptions): HookRecord {
  const { meta } = claim;
  const { health } = slot;
  const active = slot.active?.candidate.dir === claim.dir ? slot.active : undefined;
  const inForce = slot.top === claim;
  const state = stateOf(slot, claim);
  const problem = claim.problem ?? (inForce ? slot.error : undefined);
  const barred = slot.barred.get(claim);
  const error =
    state === "resting"
      ? `it failed ${health.failuresInARow} times in a row and rests until it changes or \`portico hooks enable ${slot.name}\``
      : barred
        ? // Being off is no error.
          barred.state === "disabled"
          ? undefined
          : barred.reasons.join("; ")
        : problem && sayProblem(problem, claim.realDir);
  const place = state === "resting" ? health.lastError : barred ? undefined : problem;
  const below = inForce ? slot.claims.find((other) => other.root.rank < claim.root.rank) : undefined;
  const above = !inForce && slot.top && slot.top.root.rank > claim.root.rank ? slot.top : undefined;
  const counts = inForce || active;
  return {
    name: slot.name,
    state,
    ...(error ? { error } : {}),
    ...(place?.file ? { file: place.file } : {}),
    ...(place?.line ? { line: place.line } : {}),
    ...(meta?.description ? { description: meta.description } : {}),
    ...(meta?.emoji ? { emoji: meta.emoji } : {}),
    ...(meta?.homepage ? { homepage: meta.homepage } : {}),
    events: (meta?.events ?? []).map((name) => describeEvent(name, options.specs)),
    priority: (options.entry["priority"] as number | undefined) ?? meta?.priority ?? 0,
    timeoutMs: (options.entry["timeoutMs"] as number | undefined) ?? meta?.timeoutMs ?? 5000,
    enabled: options.hooksEnabled && (options.entry.enabled ?? meta?.enabled ?? true),
    root: claim.root.name,
    dir: claim.dir,
    ...(claim.handler ? { handler: claim.handler } : {}),
    missing: barred?.state === "ineligible" ? barred.reasons : [],
    warnings: claim.warnings,
    ...(below ? { shadows: { root: below.root.name, dir: below.dir } } : {}),
    ...(above ? { shadowedBy: { root: above.root.name, dir: above.dir } } : {}),
    ...(counts && slot.active
      ? {
          loaded: {
            generation: slot.active.generation,
            hash: slot.active.hash,
            loadedAt: slot.active.loadedAt,
            loadMs: Math.round(slot.active.loadMs * 10) / 10,
            dir: slot.active.candidate.dir,
          },
        }
      : {}),
    runs: counts ? health.runs : 0,
    failures: counts ? health.failures : 0,
    failuresInARow: counts ? health.failuresInARow : 0,
    ...(counts && health.lastRun ? { lastRun: health.lastRun } : {}),
    ...(counts && health.lastError ? { lastError: health.lastError } : {}),
  };
}

function stateOf(slot: Slot, claim: Candidate): HookState {
  const barred = slot.barred.get(claim);
  const runs = slot.active?.candidate.dir === claim.dir;
  if (slot.doubles.includes(claim)) return "failed";
  if (barred?.state === "unapproved") return "unapproved";
  if (slot.top !== claim) return runs ? "active" : "shadowed";
  if (barred) return barred.state;
  if (!runs) return slot.error ? "failed" : "loading";
  if (slot.error) return "stale";
  return slot.health.resting ? "resting" : "active";
}

/** A declared event, with the nearest known name where nobody emits it. */
export function describeEvent(name: string, specs: ReadonlyMap<string, EventSpec>): HookEventRecord {
  if (specs.has(name)) return { name, known: true };
  const close = didYouMean(name, specs.keys());
  return { name, known: false, ...(close ? { didYouMean: close } : {}) };
}
