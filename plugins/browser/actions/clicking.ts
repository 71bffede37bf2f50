/** Clicks elements, and finds out how far an interrupted click got. */
import { readCallLog } from "../failures.ts";
import type { Tab } from "../tab/tab.ts";
import type { Limits } from "./trial.ts";

/**
 * The library checks that a press reached its element only if it may also wait for navigations that the press causes.
 * The caller waits for the page with its own limit, so the library gets no more than this time in ms.
 */
const NAVIGATION_MS = 1_000;

const PRESS_STARTED = /^performing \w+ action$/;
const PRESS_DONE = /^\w+ action done$/;
/** The library did not send the press to the page, because it would have hit another element. */
const PRESS_PREVENTED = /intercepts pointer events|^retrying |was detached from the DOM/;

type Progress = "waiting" | "unknown" | "pressed";

/** Returns how far an aborted click got. `unknown` means that it was in progress and may have reached the page. */
export function progressOf(error: unknown): Progress {
  const log = readCallLog(error);
  if (log.some((line) => PRESS_DONE.test(line))) return "pressed";
  const startLine = log.findLastIndex((line) => PRESS_STARTED.test(line));
  if (startLine < 0 || log.slice(startLine).some((line) => PRESS_PREVENTED.test(line)))
    return "waiting";
  return "unknown";
}

/** Resolves when the press has reached its element. The library retries if the element moves or is covered. */
export async function press(
  { cdp }: Tab,
  limits: Limits,
  click: (limits: Limits) => Promise<void>,
): Promise<void> {
  const navigationLimit = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const onNavigation = (): void => {
    timer ??= setTimeout(() => navigationLimit.abort(), NAVIGATION_MS);
  };
  cdp.on("Page.frameRequestedNavigation", onNavigation);
  try {
    await click({ ...limits, signal: AbortSignal.any([limits.signal, navigationLimit.signal]) });
  } catch (error) {
    if (progressOf(error) !== "pressed") throw error;
  } finally {
    clearTimeout(timer);
    cdp.off("Page.frameRequestedNavigation", onNavigation);
  }
}
