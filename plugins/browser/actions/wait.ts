/** The conditions of `wait`: all that are given must come true within one limit. */
import { setTimeout } from "node:timers/promises";
import { PorticoError } from "portico";
import { errors } from "../errors.ts";
import { attempt, remainingMs, pause, within } from "../deadline.ts";
import { isGone, isTimeout } from "../failures.ts";
import { fitsAny } from "./looking.ts";
import { pageFunction } from "./page-function.ts";
import type { Tab } from "../tab/tab.ts";
import type { Frame } from "../drivers/playwright.ts";
import { urlMatcher } from "../tab/url-match.ts";

interface WaitInput {
  text?: string;
  textGone?: string;
  url?: string;
  loadState?: "load" | "domcontentloaded" | "networkidle";
  fn?: string;
  timeMs?: number;
}

/** Of all conditions together. */
interface Limit {
  start: number;
  timeoutMs: number;
}

/** How long the frames are waited for together before one that shows the text counts. */
const FRAMES_MS = 50;

/** Whether the frame shows the text now; undefined where that cannot be known. */
async function showsText(frame: Frame, text: string): Promise<boolean | undefined> {
  try {
    return await fitsAny(frame.getByText(text).filter({ visible: true }));
  } catch (error) {
    if (isGone(error) && !frame.isDetached()) throw error;
    // A frame that went away shows nothing; what one shows that is just loading is not known.
    return frame.isDetached() ? false : undefined;
  }
}

/** Any frame may contain the text. Frames appear and disappear, so each wait is short. */
async function textThere(
  tab: Tab,
  text: string,
  wanted: boolean,
  { start, timeoutMs }: Limit,
): Promise<void> {
  let isShown = false;
  const pendingFrames = new Map<Frame, Promise<boolean | undefined>>();
  async function ask(frame: Frame): Promise<boolean | undefined> {
    const shown = await showsText(frame, text).finally(() => pendingFrames.delete(frame));
    isShown ||= shown === true;
    return shown;
  }
  for (;;) {
    const unasked = tab.page.frames().filter((frame) => !pendingFrames.has(frame));
    for (const frame of unasked) pendingFrames.set(frame, ask(frame));
    const waitMs = remainingMs(start, timeoutMs);
    // One that does not answer holds up no other; only whether it shows the text is not known.
    const limit = wanted ? Math.min(FRAMES_MS, waitMs) : waitMs;
    const seen = await attempt(limit, Promise.all(pendingFrames.values()), [undefined]);
    if (tab.signal.aborted || tab.page.isClosed()) throw new Error("Target closed");
    if (wanted ? isShown : seen.every((shown) => shown === false)) return;
    if (Date.now() - start >= timeoutMs) throw textMissed(text, wanted, timeoutMs);
    await pause(50);
  }
}

function textMissed(text: string, wanted: boolean, ms: number): PorticoError {
  const values = { text: JSON.stringify(text.slice(0, 80)), ms };
  return wanted ? errors.textNotShown(values) : errors.textNotGone(values);
}

/** Asks again and again, from outside: a page that navigates meanwhile is asked again. */
async function functionTrue(tab: Tab, source: string, { start, timeoutMs }: Limit): Promise<void> {
  const fn = pageFunction(source, "nothing");
  const ask = async (): Promise<boolean> => {
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
    const evaluation = within(remainingMs(start, timeoutMs), "The wait for fn", ask());
    const told = await evaluation.catch((error: unknown) => {
      if (isTimeout(error)) return false;
      throw error;
    });
    if (told) return;
    await pause(40);
  } while (Date.now() - start < timeoutMs);
  throw errors.waitedInVain({ ms: timeoutMs, condition: "fn to become true" });
}

async function elapse({ signal }: Tab, ms: number): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => {
    throw new Error("Target closed");
  });
}

export async function runWait(tab: Tab, input: WaitInput, timeoutMs: number): Promise<void> {
  const { text, textGone, url, loadState, fn, timeMs } = input;
  if ([text, textGone, url, loadState, fn, timeMs].every((one) => one === undefined)) {
    throw errors.nothingToWaitFor({ param: "text" });
  }
  const limit = { start: Date.now(), timeoutMs };
  const rest = (): number => remainingMs(limit.start, timeoutMs);
  if (fn !== undefined) pageFunction(fn, "nothing");
  try {
    if (timeMs !== undefined) await within(timeoutMs, "The wait", elapse(tab, timeMs));
    if (url !== undefined) {
      const fits = urlMatcher(url);
      await tab.page.waitForURL((at) => fits(at.href), { timeout: rest(), waitUntil: "commit" });
    }
    if (loadState !== undefined)
      await within(
        rest() + 200,
        `The wait for ${loadState}`,
        tab.page.waitForLoadState(loadState, { timeout: rest() }),
      );
    if (text !== undefined) await textThere(tab, text, true, limit);
    if (textGone !== undefined) await textThere(tab, textGone, false, limit);
    if (fn !== undefined) await functionTrue(tab, fn, limit);
  } catch (error) {
    if (error instanceof PorticoError || !isTimeout(error)) throw error;
    const condition =
      loadState === undefined ? `the address ${url?.slice(0, 120)}` : `the load state ${loadState}`;
    throw errors.waitedInVain({ ms: timeoutMs, condition }, { cause: error });
  }
}
