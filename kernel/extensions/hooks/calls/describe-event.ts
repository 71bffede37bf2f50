import { didYouMean } from "../../../text/nearest.ts";
import type { HookEventRecord } from "../../../contract/records.ts";
import type { EventSpec } from "../../../types.ts";

/** A declared event, with the nearest known name where nobody emits it. */
export function describeEvent(name: string, specs: ReadonlyMap<string, EventSpec>): HookEventRecord {
  const kind = name.endsWith(":*") ? name.slice(0, -1) : undefined;
  if (specs.has(name) || (kind && [...specs.keys()].some((event) => event.startsWith(kind))))
    return { name, known: true };
  const close = didYouMean(name, specs.keys());
  return close === undefined ? { name, known: false } : { name, known: false, didYouMean: close };
}
