/** Brings a tab to an address, past what gets in the way of that. */
import { attempt, remainingMs, pause, within } from "../deadline.ts";
import type { Response } from "../drivers/playwright.ts";
import type { Tab } from "./tab.ts";

export type WaitUntil = "load" | "domcontentloaded" | "networkidle" | "commit";

/** Where the caller names no waitUntil: the document must be there, the rest gets a few seconds more. */
export const LOAD_GRACE_MS = 5_000;

/** The browser breaks off what it is connecting as soon as its machine has another address, or one less. */
const CHANGED = /net::ERR_NETWORK_CHANGED/;
/** A change seldom comes alone. After a second the browser itself would load its error page again. */
const CHANGED_PAUSE_MS = 500;
const MOST_LOADS = 5;

/** Loads a page again where the network changed meanwhile: what may be asked for once (GET) may be asked for twice. */
export async function overChanges<T>(endsAt: number, load: () => Promise<T>): Promise<T> {
  for (let loads = 1; ; loads++) {
    try {
      return await load();
    } catch (error) {
      const again = CHANGED.test((error as Error).message) && loads < MOST_LOADS;
      if (!again || Date.now() + CHANGED_PAUSE_MS > endsAt) throw error;
      await pause(CHANGED_PAUSE_MS);
    }
  }
}

const INTERRUPTED = /is interrupted by another navigation to "([^"]*)"/;

const ERROR_PAGE_MS = 400;
const MOST_TRIES = 3;

export async function goTo(
  tab: Tab,
  url: string,
  waitUntil: WaitUntil | undefined,
  timeoutMs: number,
): Promise<Response | null> {
  const start = Date.now();
  const before = tab.url;
  let answered: Response | null = null;
  const note = (response: Response): void => {
    if (response.request().isNavigationRequest() && response.url() === url) answered = response;
  };
  tab.page.on("response", note);
  const open = (): Promise<Response | null> => {
    const timeout = remainingMs(start, timeoutMs);
    return within(
      timeout + 500,
      "Loading the page",
      tab.page.goto(url, { waitUntil: waitUntil ?? "domcontentloaded", timeout }),
    );
  };
  const attemptAt = async (tries: number): Promise<Response | null> => {
    try {
      return await open();
    } catch (error) {
      const text = (error as Error).message;
      const other = INTERRUPTED.exec(text)?.[1];
      // The page is there already, and what it does next is a navigation of its own.
      if (other === url) return answered;
      // What an earlier navigation came to (its page, its error page, the blank one) may be late and push this one aside.
      const late =
        other !== undefined && (other === before || /^(chrome-error:|about:blank)/.test(other));
      if (late && tries < MOST_TRIES) return attemptAt(tries + 1);
      // The browser's own error page follows: what is asked of the tab before it is there would be cut off.
      if (text.includes("net::ERR_") && !text.includes("ERR_ABORTED")) {
        await attempt(
          ERROR_PAGE_MS,
          tab.page.waitForURL(/^chrome-error:/, { waitUntil: "commit" }),
          undefined,
        );
      }
      throw error;
    }
  };
  const response = await overChanges(start + timeoutMs, () => attemptAt(1)).finally(() =>
    tab.page.off("response", note),
  );
  if (waitUntil === undefined) {
    await attempt(
      Math.min(LOAD_GRACE_MS, remainingMs(start, timeoutMs)),
      tab.page.waitForLoadState("load"),
      undefined,
    );
  }
  return response;
}
