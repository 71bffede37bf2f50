import { randomInt } from "node:crypto";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { portFree } from "portico/browser";

/**
 * Returns a port on which a server can be started later, even repeatedly. Its neighbours at these distances are free, too.
 * The port is random, and below the range of ephemeral ports, so that the system does not assign it meanwhile.
 */
export async function freePort(...neighbours: number[]): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 30_000);
    const ports = [0, ...neighbours].map((distance) => port + distance);
    const free = await Promise.all(ports.map(portFree));
    if (free.every(Boolean) && ports.every(reservePort)) return port;
  }
}

/**
 * Reserves a port for this process by a file in the run's shared temporary directory. Returns false if another process has
 * reserved it.
 */
function reservePort(port: number): boolean {
  if (process.env["PORTICO_TEST_BUNDLE"] === undefined) return true;
  try {
    writeFileSync(join(tmpdir(), `portico-port-${port}`), "", { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}
