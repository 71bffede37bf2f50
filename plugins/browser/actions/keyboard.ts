/** Types into fields and presses single keys. */
import { errors } from "../errors.ts";
import { attempt, remainingMs, withTimeout } from "../deadline.ts";
import { NEEDS_EDITABLE, findUnobstructed, NEEDS_VISIBLE, trialOf, tryOn } from "./elements.ts";
import { enterText } from "./entry.ts";
import type { Act } from "./types.ts";

/** The time in ms between two keys of a text that is typed slowly. */
const KEY_MS = 15;
/** The time in ms within which an idle frame reports its focus. */
const FOCUS_MS = 1_000;
/**
 * The additional time in ms per key of slow typing, since the timeout applies to the element and not to the length of
 * the text.
 */
const EXTRA_PER_KEY_MS = 60;

/** Replaces the content of a field. Without a ref, types into the focused field. */
export async function type(act: Act): Promise<unknown> {
  const { input } = act;
  // Each of these characters would press Enter, and the pair would press it twice.
  const text = (input.text as string).replace(/\r\n?/g, "\n");
  const timeoutMs = input.slowly ? act.timeoutMs + text.length * EXTRA_PER_KEY_MS : act.timeoutMs;
  if (input.ref === undefined) return typeAtFocus(act, text);
  const start = Date.now();
  const attemptOptions = { ...trialOf(act), timeoutMs, needs: NEEDS_EDITABLE, what: "The typing" };
  // Keys go to the focused element. The library checks only for whole texts whether the element accepts them.
  if (input.slowly) await findUnobstructed(attemptOptions);
  let value: string | undefined;
  await tryOn({
    ...attemptOptions,
    async work(locator, { timeout, signal }) {
      const limits = { timeout, signal };
      value = await enterText(locator, text, limits, input.slowly ? { delay: KEY_MS } : {});
      if (input.submit)
        await locator.press("Enter", { timeout: remainingMs(start, timeoutMs), noWaitAfter: true });
    },
  });
  return value === undefined ? undefined : { value };
}

/** Determines what has the focus in a frame, also within shadow roots. */
const FOCUS_SCRIPT = `(() => {
  let at = document.activeElement;
  while (at && at.shadowRoot && at.shadowRoot.activeElement) at = at.shadowRoot.activeElement;
  if (!at) return "none";
  if (at.tagName === "IFRAME") return "frame";
  if (at.isContentEditable || at.tagName === "CANVAS" || at.editContext) return "text";
  const field = at.tagName === "TEXTAREA" || (at.tagName === "INPUT" && !/^(button|checkbox|color|file|image|radio|range|reset|submit)$/.test(at.type));
  return field && !at.readOnly && !at.disabled ? "text" : "none";
})()`;

/** Types into the focused element without replacing its content. Rejects with a 422 if no text field has the focus. */
async function typeAtFocus({ tab, input, timeoutMs }: Act, text: string): Promise<undefined> {
  const { keyboard } = tab.page;
  const work = async (): Promise<void> => {
    const frameStates = tab.page
      .frames()
      .map((frame) => attempt(FOCUS_MS, frame.evaluate(FOCUS_SCRIPT), "none"));
    if (!(await Promise.all(frameStates)).includes("text"))
      throw errors.nothingFocused({ param: "ref" });
    if (input.slowly) await keyboard.type(text, { delay: KEY_MS });
    else await keyboard.insertText(text);
    if (input.submit) await keyboard.press("Enter");
  };
  const totalMs = input.slowly ? timeoutMs + text.length * EXTRA_PER_KEY_MS : timeoutMs;
  await withTimeout(totalMs, "The typing", work(), errors.pageSilent);
  return undefined;
}

/** Presses a key on an element, or on the focused element. */
export async function pressKey({ tab, input, timeoutMs, isExplicit }: Act): Promise<undefined> {
  const key = input.key as string;
  try {
    if (input.ref !== undefined) {
      await tryOn({
        tab,
        ref: input.ref,
        timeoutMs,
        isExplicit,
        needs: NEEDS_VISIBLE,
        what: "The key press",
        work: (locator, limits) => locator.press(key, limits),
      });
    } else
      await withTimeout(
        timeoutMs,
        "The key press",
        tab.page.keyboard.press(key),
        errors.pageSilent,
      );
  } catch (error) {
    if (!/Unknown key|Unknown modifier/i.test(String((error as Error).message))) throw error;
    throw errors.notAKey({ key: JSON.stringify(key) }, { param: "key", cause: error });
  }
  return undefined;
}
