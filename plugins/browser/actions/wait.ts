/** Waits until all given conditions are met, within one timeout. */
import { setTimeout } from "node:timers/promises";
import { PorticoError } from "portico";
import { errors } from "../errors.ts";
import { attempt, remainingMs, pause, withTimeout } from "../deadline.ts";
import { isGone, isTimeout } from "../failures.ts";
import { existsAny } from "./probing.ts";
import { compilePageFunction } from "./page-function.ts";
import type { Tab } from "../tab/tab.ts";
import type { Frame } from "../drivers/playwright.ts";
import { createUrlMatcher } from "../tab/url-match.ts";

interface WaitInput {
  text?: string;
  textGone?: string;
  url?: string;
  loadState?: "load" | "domcontentloaded" | "networkidle";
  fn?: string;
  timeMs?: number;
}

/** The timeout of all conditions together. */
interface WaitLimit {
  start: number;
  timeoutMs: number;
}

/** The time in ms to wait for all frames before a frame that already shows the text counts. */
const FRAMES_MS = 50;

/** Returns whether the frame shows the text now, or `undefined` if that is unknown. */
async function showsText(frame: Frame, text: string): Promise<boolean | undefined> {
  try {
    return await existsAny(frame.getByText(text).filter({ visible: true }));
  } catch (error) {
    if (isGone(error) && !frame.isDetached()) throw error;
    // A detached frame shows nothing; the content of a loading frame is unknown.
    return frame.isDetached() ? false : undefined;
  }
}

/** Waits until any frame shows the text, or none does. Frames appear and disappear, so each wait is short. */
async function waitForText(
  tab: Tab,
  text: string,
  shouldAppear: boolean,
  { start, timeoutMs }: WaitLimit,
): Promise<void> {
  let hasAppeared = false;
  const pendingFrames = new Map<Frame, Promise<boolean | undefined>>();
  async function queryFrame(frame: Frame): Promise<boolean | undefined> {
    const isVisible = await showsText(frame, text).finally(() => pendingFrames.delete(frame));
    hasAppeared ||= isVisible === true;
    return isVisible;
  }
  for (;;) {
    const newFrames = tab.page.frames().filter((frame) => !pendingFrames.has(frame));
    for (const frame of newFrames) pendingFrames.set(frame, queryFrame(frame));
    const waitMs = remainingMs(start, timeoutMs);
    // An unresponsive frame does not delay the others, but whether it shows the text is unknown.
    const limit = shouldAppear ? Math.min(FRAMES_MS, waitMs) : waitMs;
    const states = await attempt(limit, Promise.all(pendingFrames.values()), [undefined]);
    if (tab.signal.aborted || tab.page.isClosed()) throw new Error("Target closed");
    if (shouldAppear ? hasAppeared : states.every((isVisible) => isVisible === false)) return;
    if (Date.now() - start >= timeoutMs) throw textError(text, shouldAppear, timeoutMs);
    await pause(50);
  }
}

function textError(text: string, shouldAppear: boolean, ms: number): PorticoError {
  const values = { text: JSON.stringify(text.slice(0, 80)), ms };
  return shouldAppear ? errors.textNotShown(values) : errors.textNotGone(values);
}

/** Polls the page until the function returns a true value. Polling from outside the page survives navigations. */
async function waitForFunction(
  tab: Tab,
  source: string,
  { start, timeoutMs }: WaitLimit,
): Promise<void> {
  const fn = compilePageFunction(source, "nothing");
  const evaluate = async (): Promise<boolean> => {
    try {
      return Boolean(await tab.page.evaluate(fn as never));
    } catch (error) {
      if (
        /Execution context was destroyed|navigate|navigating|navigation/i.test(
          String((error as Error).message),
        )
      )
        return false;
      throw error;
    }
  };
  do {
    const evaluation = withTimeout(remainingMs(start, timeoutMs), "The wait for `fn`", evaluate());
    const isTrue = await evaluation.catch((error: unknown) => {
      if (isTimeout(error)) return false;
      throw error;
    });
    if (isTrue) return;
    await pause(40);
  } while (Date.now() - start < timeoutMs);
  throw errors.waitTimedOut({ ms: timeoutMs, condition: "`fn` to become true" });
}

async function elapse({ signal }: Tab, ms: number): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => {
    throw new Error("Target closed");
  });
}

export async function runWait(tab: Tab, input: WaitInput, timeoutMs: number): Promise<void> {
  const { text, textGone, url, loadState, fn, timeMs } = input;
  if ([text, textGone, url, loadState, fn, timeMs].every((value) => value === undefined)) {
    throw errors.nothingToWaitFor({ param: "text" });
  }
  const limit = { start: Date.now(), timeoutMs };
  const remaining = (): number => remainingMs(limit.start, timeoutMs);
  if (fn !== undefined) compilePageFunction(fn, "nothing");
  try {
    if (timeMs !== undefined) await withTimeout(timeoutMs, "The wait", elapse(tab, timeMs));
    if (url !== undefined) {
      const matches = createUrlMatcher(url);
      await tab.page.waitForURL((address) => matches(address.href), {
        timeout: remaining(),
        waitUntil: "commit",
      });
    }
    if (loadState !== undefined)
      await withTimeout(
        remaining() + 200,
        `The wait for ${loadState}`,
        tab.page.waitForLoadState(loadState, { timeout: remaining() }),
        () => errors.waitTimedOut({ ms: timeoutMs, condition: `the load state ${loadState}` }),
      );
    if (text !== undefined) await waitForText(tab, text, true, limit);
    if (textGone !== undefined) await waitForText(tab, textGone, false, limit);
    if (fn !== undefined) await waitForFunction(tab, fn, limit);
  } catch (error) {
    if (error instanceof PorticoError || !isTimeout(error)) throw error;
    const condition =
      loadState === undefined ? `the address ${url?.slice(0, 120)}` : `the load state ${loadState}`;
    throw errors.waitTimedOut({ ms: timeoutMs, condition }, { cause: error });
  }
}
