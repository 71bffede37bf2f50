/** Describes cron expressions in words. This is the only importer of cronstrue, which is loaded at first use. */
import { createRequire } from "node:module";
import { normalizeCron } from "./cron-syntax.ts";

/**
 * Converts `0 9 * * FRI-MON` to "At 09:00, Friday through Monday". Returns undefined if the library cannot describe it.
 */
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
