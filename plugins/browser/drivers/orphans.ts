/** Stops browsers that a killed gateway left running. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "portico";

/**
 * Ends every browser that a record below `dir` (`<state>/browser`) names and whose gateway no longer runs. Costs one
 * directory listing if there is none.
 */
export async function endOrphans(dir: string, log: Logger): Promise<void> {
  let names: string[];
  try {
    names = readdirSync(dir);
  } catch {
    return;
  }
  const { endOrphan } = await import("./process-record.ts");
  await Promise.all(
    names.map(async (name) => {
      const wasRunning = await endOrphan(join(dir, name, "browser.json")).catch(() => false);
      if (wasRunning)
        log.warn(
          { profile: name },
          "a browser that an earlier run of the gateway had left running was stopped",
        );
    }),
  );
}
