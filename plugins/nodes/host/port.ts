/** The ports of a node's own servers. They stay the same, so that the relay's extension finds its relay again. */
import { portFree } from "portico/browser";

/**
 * The node's base port. Browser control and relay follow as on a gateway (+2, +3). It differs from a gateway's, which may
 * start later on this machine.
 */
const BASE = 18_769;

/** Returns the usual base port if all of its ports are free, else 0 for any port. */
export async function findNodePort(): Promise<number> {
  for (const offset of [0, 2, 3]) if (!(await portFree(BASE + offset))) return 0;
  return BASE;
}
