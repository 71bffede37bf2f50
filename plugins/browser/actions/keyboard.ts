/** Typing into a field, and single keys. */
import { PorticoError } from "portico";
import { left, within } from "../deadline.ts";
import { EDITED, findFree, SEEN, trial, tryOn } from "./elements.ts";
import { enter } from "./entry.ts";
import type { Act } from "./types.ts";

/** Between two keys of a text that is typed slowly. */
const KEY_MS = 15;
/** Such a text takes its time; the limit is for the element, not for the length of the text. */
const ROOM_PER_KEY_MS = 60;

/** Replaces what the field holds; without a ref, of the field that has the focus. */
export async function type(act: Act): Promise<unknown> {
  const { input } = act;
  // Each of these would be a press of Enter, and the pair two.
  const text = (input.text as string).replace(/\r\n?/g, "\n");
  const timeoutMs = input.slowly ? act.timeoutMs + text.length * ROOM_PER_KEY_MS : act.timeoutMs;
  const start = Date.now();
  const tried = { ...trial(act), timeoutMs, needs: EDITED, what: "The typing" };
  // Keys go to whatever has the focus: the library asks only for texts as a whole whether they can be entered.
  if (input.slowly) await findFree(tried);
  let value: string | undefined;
  await tryOn({
    ...tried,
    async work(locator, { timeout, signal }) {
      const limits = { timeout, signal };
      value = await enter(locator, text, limits, input.slowly ? { delay: KEY_MS } : {});
      if (input.submit)
        await locator.press("Enter", { timeout: left(start, timeoutMs), noWaitAfter: true });
    },
  });
  return value === undefined ? undefined : { value };
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
