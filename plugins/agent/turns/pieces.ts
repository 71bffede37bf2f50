/**
 * Groups text for handlers of `message:streaming`: text that arrives in one read, or while they are busy, becomes one
 * piece.
 */
import { setImmediate } from "node:timers/promises";
import type { Edit } from "./sending.ts";

/** If more characters than this wait for handlers, reading from the upstream pauses. */
const MOST_WAITING = 64 * 1024;

/** `onText` receives each piece after the handlers have changed it. */
export function createPieceEditor(edit: Edit, onText: (text: string) => void) {
  let pendingText = "";
  let editing: Promise<void> | undefined;
  let isRefused = false;

  async function editPendingText(): Promise<void> {
    // All chunks of the same read arrive before this resolves.
    await setImmediate();
    while (pendingText !== "") {
      const text = pendingText;
      pendingText = "";
      onText(await edit(text, false));
    }
    editing = undefined;
  }

  return {
    /** Throws if a handler has refused an earlier piece. */
    async add(text: string): Promise<void> {
      pendingText += text;
      if (editing === undefined) {
        editing = editPendingText();
        editing.catch(() => (isRefused = true));
      }
      if (isRefused || pendingText.length > MOST_WAITING) await editing;
    },
    /** Resolves when all pieces have been sent. */
    async flush(): Promise<void> {
      await editing;
    },
  };
}
