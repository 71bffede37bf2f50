/** What is said, as handlers of `message:streaming` see it: what comes in one read, or while they are busy, is one piece. */
import { setImmediate } from "node:timers/promises";
import type { Edit } from "./sending.ts";

/** So much may wait for handlers before the upstream is slowed. */
const MOST_WAITING = 64 * 1024;

/** `tell` gets each piece as handlers leave it. */
export function inPieces(edit: Edit, tell: (text: string) => void) {
  let waiting = "";
  let editing: Promise<void> | undefined;
  let refused = false;

  async function run(): Promise<void> {
    // the other chunks of the same read come before this
    await setImmediate();
    while (waiting !== "") {
      const text = waiting;
      waiting = "";
      tell(await edit(text, false));
    }
    editing = undefined;
  }

  return {
    /** Throws where a handler has refused an earlier piece. */
    async say(text: string): Promise<void> {
      waiting += text;
      if (editing === undefined) {
        editing = run();
        editing.catch(() => (refused = true));
      }
      if (refused || waiting.length > MOST_WAITING) await editing;
    },
    /** Resolves when all pieces have been sent. */
    async caughtUp(): Promise<void> {
      await editing;
    },
  };
}
