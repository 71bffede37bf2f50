/** What is known about a hook, as `/kernel/hooks` and `portico hooks` show it. */
import type { HookEventRecord, HookRecord } from "../../contract/records.ts";
import { didYouMean } from "../../text/nearest.ts";
import type { EventSpec } from "../../types.ts";
import { describe } from "../record.ts";
import type { HookCandidate } from "./candidate.ts";
import type { HookSlot } from "./version.ts";

type Specs = ReadonlyMap<string, EventSpec>;

/** A declared event, with the nearest known name where nobody emits it. */
export function describeEvent(name: string, specs: Specs): HookEventRecord {
  const isKind = name.endsWith(":*") && [...specs.keys()].some((event) => event.startsWith(name.slice(0, -1)));
  if (isKind || specs.has(name)) return { name, known: true };
  const near = didYouMean(name, specs.keys());
  return near === undefined ? { name, known: false } : { name, known: false, didYouMean: near };
}

/** `limits`: what its settings come to. */
export function describeHook(
  slot: HookSlot,
  candidate: HookCandidate,
  specs: Specs,
  limits: Pick<HookRecord, "enabled" | "priority" | "timeoutMs">,
): HookRecord {
  const record = describe(slot, candidate);
  const { meta, handler, warnings } = candidate;
  const { runs, failures, failuresInARow, lastRun, lastError, tripped } = slot.health;
  const counts = record.loaded !== undefined || slot.top === candidate;
  const rests = `it failed ${failuresInARow} times in a row and rests until it changes or \`portico hooks enable ${slot.name}\``;
  const isResting = record.state === "active" && slot.top === candidate && tripped;
  const reason = slot.disabled.get(candidate);
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
