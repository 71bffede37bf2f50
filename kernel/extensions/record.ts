/** What is shown of an extension, whichever kind it is. */
import type { ExtensionState, ExtensionRecord } from "../contract/records.ts";
import { sayProblem } from "./problem.ts";
import { type Candidate, duplicateProblem, type Slot, type Version } from "./slot.ts";

/** All that goes by a slot's name: first the candidate that is meant. */
export function candidatesOf<V extends Version>(slot: Slot<V>): V["candidate"][] {
  const { top, candidates, duplicates } = slot;
  return [...(top ? [top] : []), ...candidates.filter((one) => one !== top), ...duplicates];
}

export type Described<V extends Version = Version> = Omit<Slot<V>, "log" | "generation">;

export function describe(slot: Described, candidate: Candidate): ExtensionRecord {
  const { top, active } = slot;
  const isTop = top === candidate;
  const runs = active?.version.candidate.dir === candidate.dir;
  const isDuplicate = slot.duplicates.includes(candidate);
  const disabled = slot.disabled.get(candidate);
  const problem = isDuplicate
    ? duplicateProblem(candidate, slot.candidates)
    : disabled
      ? undefined
      : (candidate.problem ?? (isTop ? slot.error : undefined));
  // Being off is no error.
  const reasons = disabled && disabled.state !== "disabled" ? disabled.reasons.join("; ") : undefined;
  const below = isTop ? slot.candidates.find((other) => other.root.rank < candidate.root.rank) : undefined;
  const above = !isTop && top && top.root.rank > candidate.root.rank ? top : undefined;
  const state = (): ExtensionState => {
    if (isDuplicate) return "failed";
    if (disabled) return disabled.state;
    if (!isTop) return runs ? "active" : "shadowed";
    if (problem) return runs ? "stale" : "failed";
    return runs ? "active" : "loading";
  };
  return {
    name: slot.name,
    state: state(),
    error: reasons ?? (problem && sayProblem(problem, candidate.realDir)),
    file: problem?.file,
    line: problem?.line,
    root: candidate.root.name,
    dir: candidate.dir,
    shadows: below && { root: below.root.name, dir: below.dir },
    shadowedBy: above && { root: above.root.name, dir: above.dir },
    loaded:
      active && (isTop || runs)
        ? {
            generation: active.generation,
            hash: active.version.candidate.hash,
            loadedAt: active.loadedAt,
            loadMs: Math.round(active.version.loadMs * 10) / 10,
            dir: active.version.candidate.dir,
          }
        : undefined,
  };
}
