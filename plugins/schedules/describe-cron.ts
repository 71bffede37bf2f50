/** Cron expressions in words; the only importer of cronstrue, which is loaded when a job is first shown. */
import { createRequire } from "node:module";
import { normalizeCron } from "./cron-syntax.ts";

/** `0 9 * * FRI-MON` → "At 09:00, Friday through Monday"; `undefined` where it cannot be put into words. */
export function describeCron(expr: string): string | undefined {
  const { toString: describe } = createRequire(import.meta.url)(
    "cronstrue",
  ) as typeof import("cronstrue");
  try {
    return describe(normalizeCron(expr), { use24HourTimeFormat: true });
  } catch {
    return undefined;
  }
}
