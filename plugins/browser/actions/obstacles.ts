/** Explains why an action is not possible. */
import type { Probe, ProbeNeeds } from "../tab/page-scripts.ts";

/** Describes what prevents an action on an element, or returns `undefined` if nothing does. */
export function findObstacle(probe: Probe, needs: ProbeNeeds): string | undefined {
  if (needs.visible && probe.visible === false) return "is not visible";
  if (needs.enabled && probe.enabled === false) return "is disabled";
  if (needs.hit && probe.inert) return "is inert, so the page accepts no input for it";
  if (needs.hit && probe.outside) return "cannot be scrolled into view";
  if (needs.editable && probe.editable === false)
    return `is not editable (${probe.tag} accepts no text, or is read-only)`;
  if (needs.hit && probe.coveredBy !== undefined) return `is covered by ${probe.coveredBy}`;
  return undefined;
}

/** Finds the reason in the library's log, for obstacles that the probe cannot detect (covering frames, movement). */
export function findObstacleInLog(log: readonly string[]): string | undefined {
  const covered = log.findLast((line) => line.includes("intercepts pointer events"));
  if (covered !== undefined)
    return `is covered by ${covered.replace(/^.*?(<.*>).*?intercepts pointer events.*$/, "$1").slice(0, 200)}`;
  if (log.some((line) => line.includes("element is not stable"))) return "does not stop moving";
  if (log.some((line) => line.includes("element is outside of the viewport")))
    return "cannot be scrolled into view";
  if (log.some((line) => line.includes("element is not visible"))) return "is not visible";
  if (log.some((line) => line.includes("element is not enabled"))) return "is disabled";
  if (log.some((line) => line.includes("did not find some options"))) return "has no such option";
  if (log.some((line) => line.includes("option being selected is not enabled")))
    return "has that option, but the option is disabled";
  return undefined;
}
