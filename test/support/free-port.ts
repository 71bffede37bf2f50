import { randomInt } from "node:crypto";
import { portFree } from "portico/browser";

/**
 * A port that something can be started on later, and again, its neighbours at these distances included. It lies below
 * those that a system gives out by itself, so that nobody comes by it meanwhile, and differs from run to run.
 */
export async function freePort(...neighbours: number[]): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 30_000);
    const free = await Promise.all([0, ...neighbours].map((distance) => portFree(port + distance)));
    if (free.every(Boolean)) return port;
  }
}
