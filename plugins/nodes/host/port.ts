/** Where a node's own servers listen: on ports that stay, so that the relay's extension finds its relay again. */
import { portFree } from "portico/browser";

/** The node's base port; browser control and relay follow as for a gateway (+2, +3). Not a gateway's: that may come later. */
const BASE = 18_769;

/** The usual one where all of its ports are free, else 0: any. */
export async function nodePort(): Promise<number> {
  for (const offset of [0, 2, 3]) if (!(await portFree(BASE + offset))) return 0;
  return BASE;
}
