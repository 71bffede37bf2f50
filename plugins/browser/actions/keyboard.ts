/** Typing into a field, and single keys. */
import { errors } from "../errors.ts";
import { attempt, remainingMs, within } from "../deadline.ts";
import { EDITED, findFree, SEEN, trial, tryOn } from "./elements.ts";
import { enter } from "./entry.ts";
import type { Act } from "./types.ts";

/** Between two keys of a text that is typed slowly. */
const KEY_MS = 15;
/** A frame that is not busy tells its focus within this. */
const FOCUS_MS = 1_000;
/** Such a text takes its time; the limit is for the element, not for the length of the text. */
const ROOM_PER_KEY_MS = 60;

/** Replaces what the field holds; without a ref, of the field that has the focus. */
export async function type(act: Act): Promise<unknown> {
  const { input } = act;
  // Each of these would be a press of Enter, and the pair two.
  const text = (input.text as string).replace(/\r\n?/g, "\n");
  const timeoutMs = input.slowly ? act.timeoutMs + text.length * ROOM_PER_KEY_MS : act.timeoutMs;
  if (input.ref === undefined) return typeAtFocus(act, text);
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
        await locator.press("Enter", { timeout: remainingMs(start, timeoutMs), noWaitAfter: true });
    },
  });
  return value === undefined ? undefined : { value };
}

/** What has the focus, in frames and shadow roots as well. */
const FOCUS = `(() => {
  let at = document.activeElement;
  while (at && at.shadowRoot && at.shadowRoot.activeElement) at = at.shadowRoot.activeElement;
  if (!at) return "none";
  if (at.tagName === "IFRAME") return "frame";
  if (at.isContentEditable || at.tagName === "CANVAS" || at.editContext) return "text";
  const field = at.tagName === "TEXTAREA" || (at.tagName === "INPUT" && !/^(button|checkbox|color|file|image|radio|range|reset|submit)$/.test(at.type));
  return field && !at.readOnly && !at.disabled ? "text" : "none";
})()`;

/** Types into the focused element, in addition to its content. 422 if no text field has the focus. */
async function typeAtFocus({ tab, input, timeoutMs }: Act, text: string): Promise<undefined> {
  const { keyboard } = tab.page;
  const work = async (): Promise<void> => {
    const frames = tab.page
      .frames()
      .map((frame) => attempt(FOCUS_MS, frame.evaluate(FOCUS), "none"));
    if (!(await Promise.all(frames)).includes("text"))
      throw errors.nothingFocused({ param: "ref" });
    if (input.slowly) await keyboard.type(text, { delay: KEY_MS });
    else await keyboard.insertText(text);
    if (input.submit) await keyboard.press("Enter");
  };
  const room = input.slowly ? timeoutMs + text.length * ROOM_PER_KEY_MS : timeoutMs;
  await within(room, "The typing (the page does not respond)", work());
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
        "The key press (the page does not respond)",
        tab.page.keyboard.press(key),
      );
  } catch (error) {
    if (!/Unknown key|Unknown modifier/i.test(String((error as Error).message))) throw error;
    throw errors.notAKey({ key: JSON.stringify(key) }, { param: "key", cause: error });
  }
  return undefined;
}
