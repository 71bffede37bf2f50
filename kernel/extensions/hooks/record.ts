/** What is known about a hook, as `/kernel/hooks` and `portico hooks` show it. */
import type { HookRecord } from "../../contract/records.ts";
import type { EventSpec } from "../../types.ts";
import { describe } from "../record.ts";
import { describeEvent } from "./calls/describe-event.ts";
import type { HookCandidate } from "./candidate.ts";
import type { HookSlot } from "./version.ts";

/** What its settings come to. */
export interface HookLimits {
  enabled: boolean;
  priority: number;
  timeoutMs: number;
}

export function describeHook(
  slot: HookSlot,
  candidate: HookCandidate,
  specs: ReadonlyMap<string, EventSpec>,
  limits: HookLimits,
): HookRecord {
  const record = describe(slot, candidate);
  const { meta, handler, warnings } = candidate;
  const { health, disabled } = slot;
  const counts = record.loaded !== undefined || slot.top === candidate;
  const { runs, failures, failuresInARow, lastRun, lastError } = health;
  const rests = `it failed ${failuresInARow} times in a row and rests until it changes or \`portico hooks enable ${slot.name}\``;
  const isResting = record.state === "active" && slot.top === candidate && health.tripped;
  const reason = disabled.get(candidate);
  return {
    ...record,
    ...(isResting && { state: "resting", error: rests, file: lastError?.file, line: lastError?.line }),
    description: meta?.description,
    emoji: meta?.emoji,
    homepage: meta?.homepage,
    events: (meta?.events ?? []).map((name) => describeEvent(name, specs)),
    ...limits,
    failClosed: meta?.failClosed ?? false,
    handler,
    missing: reason?.state === "ineligible" ? reason.reasons : [],
    warnings,
    ...(counts ? { runs, failures, failuresInARow, lastRun, lastError } : { runs: 0, failures: 0, failuresInARow: 0 }),
  };
}
