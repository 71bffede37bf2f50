/** A click, and how far it came. */
import { callLog } from "../failures.ts";
import type { Tab } from "../tab/tab.ts";
import type { Limits } from "./trial.ts";

/**
 * The library only checks that a press reached its element where it may also wait for what the press leads to. The
 * caller of the action waits for the page with a limit of its own, so the library gets no more than this for it.
 */
const NAVIGATION_MS = 1_000;

const PRESSING = /^performing \w+ action$/;
const PRESSED = /^\w+ action done$/;
/** The library held the press back from the page, since it would have hit something else. */
const HELD_BACK = /intercepts pointer events|^retrying |was detached from the DOM/;

type Progress = "waiting" | "unknown" | "pressed";

/** How far a click came that was broken off. `unknown`: it was under way, and may have reached the page. */
export function progressOf(error: unknown): Progress {
  const log = callLog(error);
  if (log.some((line) => PRESSED.test(line))) return "pressed";
  const last = log.findLastIndex((line) => PRESSING.test(line));
  if (last < 0 || log.slice(last).some((line) => HELD_BACK.test(line))) return "waiting";
  return "unknown";
}

/** Ends when the press has reached its element; the library tries again where the element evades or is covered. */
export async function press(
  { cdp }: Tab,
  limits: Limits,
  click: (limits: Limits) => Promise<void>,
): Promise<void> {
  const enough = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const onNavigation = (): void => {
    timer ??= setTimeout(() => enough.abort(), NAVIGATION_MS);
  };
  cdp.on("Page.frameRequestedNavigation", onNavigation);
  try {
    await click({ ...limits, signal: AbortSignal.any([limits.signal, enough.signal]) });
  } catch (error) {
    if (progressOf(error) !== "pressed") throw error;
  } finally {
    clearTimeout(timer);
    cdp.off("Page.frameRequestedNavigation", onNavigation);
  }
}
