/** Navigates a tab to an address and handles interruptions. */
import { attempt, remainingMs, pause, withTimeout } from "../deadline.ts";
import type { Response } from "../drivers/playwright.ts";
import type { Tab } from "./tab.ts";

export type WaitUntil = "load" | "domcontentloaded" | "networkidle" | "commit";

/** The time in ms that resources get after the document has loaded, if the caller sets no `waitUntil`. */
export const LOAD_GRACE_MS = 5_000;

/** The browser aborts pending connections when an address of its machine is added or removed. */
const NETWORK_CHANGED = /net::ERR_NETWORK_CHANGED/;
/**
 * The pause in ms before another attempt, since network changes seldom come alone. After a second, the browser itself
 * would reload its error page.
 */
const RETRY_PAUSE_MS = 500;
const MAX_LOADS = 5;

/** Repeats a load during which the network changed. That is safe because a GET request may be repeated. */
export async function retryOnNetworkChange<T>(endsAt: number, load: () => Promise<T>): Promise<T> {
  for (let loads = 1; ; loads++) {
    try {
      return await load();
    } catch (error) {
      const isRetryable = NETWORK_CHANGED.test((error as Error).message) && loads < MAX_LOADS;
      if (!isRetryable || Date.now() + RETRY_PAUSE_MS > endsAt) throw error;
      await pause(RETRY_PAUSE_MS);
    }
  }
}

const INTERRUPTED = /is interrupted by another navigation to "([^"]*)"/;

const ERROR_PAGE_MS = 400;
const MAX_TRIES = 3;

export async function goTo(
  tab: Tab,
  url: string,
  waitUntil: WaitUntil | undefined,
  timeoutMs: number,
): Promise<Response | null> {
  const start = Date.now();
  const previousUrl = tab.url;
  let mainResponse: Response | null = null;
  const onResponse = (response: Response): void => {
    if (response.request().isNavigationRequest() && response.url() === url) mainResponse = response;
  };
  tab.page.on("response", onResponse);
  const load = (): Promise<Response | null> => {
    const timeout = remainingMs(start, timeoutMs);
    return withTimeout(
      timeout + 500,
      "Loading the page",
      tab.page.goto(url, { waitUntil: waitUntil ?? "domcontentloaded", timeout }),
    );
  };
  const loadWithRetries = async (tries: number): Promise<Response | null> => {
    try {
      return await load();
    } catch (error) {
      const text = (error as Error).message;
      const otherUrl = INTERRUPTED.exec(text)?.[1];
      // The page has loaded, and then began a navigation of its own.
      if (otherUrl === url) return mainResponse;
      // The page of an earlier navigation (its own page, its error page, a blank page) may commit late and interrupt
      // this one.
      const isLateCommit =
        otherUrl !== undefined &&
        (otherUrl === previousUrl || /^(chrome-error:|about:blank)/.test(otherUrl));
      if (isLateCommit && tries < MAX_TRIES) return loadWithRetries(tries + 1);
      // The browser's own error page follows; commands sent before it has loaded would be interrupted.
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
  const response = await retryOnNetworkChange(start + timeoutMs, () => loadWithRetries(1)).finally(
    () => tab.page.off("response", onResponse),
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
