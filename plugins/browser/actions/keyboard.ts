/** Typing into a field, and single keys. */
import { PorticoError } from "portico";
import { left, within } from "../deadline.ts";
import { EDITED, SEEN, trial, tryOn } from "./elements.ts";
import { enter, takesKeys } from "./entry.ts";
import type { Act } from "./types.ts";

/** Replaces what the field holds. */
export async function type(act: Act): Promise<undefined> {
  const { input, timeoutMs } = act;
  // Each of these would be a press of Enter, and the pair two.
  const text = (input.text as string).replace(/\r\n?/g, "\n");
  // Key by key takes its time; the limit is for the element, not for the length of the text.
  const room = input.slowly ? timeoutMs + text.length * 60 : timeoutMs;
  const start = Date.now();
  await tryOn({
    ...trial(act),
    timeoutMs: room,
    needs: EDITED,
    what: "The typing",
    async work(locator, { timeout: limit, signal }) {
      const keys =
        input.slowly && text !== "" && (await takesKeys(locator, text, { timeout: limit, signal }));
      // The first key replaces what is selected; emptying the field would press a key of its own.
      if (keys) await locator.selectText({ timeout: limit, signal });
      else await enter(locator, text, { timeout: limit, signal });
      if (keys) await locator.pressSequentially(text, { delay: 15, timeout: left(start, room) });
      if (input.submit)
        await locator.press("Enter", { timeout: left(start, room), noWaitAfter: true });
    },
  });
  return undefined;
}

/** Presses a key on an element, or where the focus is. */
export async function pressKey({ tab, input, timeoutMs, explicit }: Act): Promise<undefined> {
  const key = input.key as string;
  try {
    if (input.ref !== undefined) {
      await tryOn({
        tab,
        ref: input.ref,
        timeoutMs,
        explicit,
        needs: SEEN,
        what: "The key press",
        work: (locator, limits) => locator.press(key, limits),
      });
    } else
      await within(
        timeoutMs,
        "The key press (the page does not answer)",
        tab.page.keyboard.press(key),
      );
  } catch (error) {
    if (!/Unknown key|Unknown modifier/i.test(String((error as Error).message))) throw error;
    throw new PorticoError(
      "invalid_request_error",
      `${JSON.stringify(key)} is not a key: write Enter, Tab, ArrowDown, a, or Control+A.`,
      { param: "key", cause: error },
    );
  }
  return undefined;
}
