import { randomInt } from "node:crypto";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { portFree } from "portico/browser";

/**
 * A port that something can be started on later, and again, its neighbours at these distances included. It lies below
 * those that a system gives out by itself, so that nobody comes by it meanwhile, and differs from run to run.
 */
export async function freePort(...neighbours: number[]): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 30_000);
    const wanted = [0, ...neighbours].map((distance) => port + distance);
    const free = await Promise.all(wanted.map(portFree));
    if (free.every(Boolean) && wanted.every(isFirstOfRun)) return port;
  }
}

/** A run's processes share their temporary directory: what one has been given, and may not use yet, no other gets. */
function isFirstOfRun(port: number): boolean {
  if (process.env["PORTICO_TEST_BUNDLE"] === undefined) return true;
  try {
    writeFileSync(join(tmpdir(), `portico-port-${port}`), "", { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}
