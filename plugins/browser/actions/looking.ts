/** Whether an element is there, and what state it is in. */
import type { Locator } from "../drivers/playwright.ts";
import { type Probe, probeElement, type ProbeNeeds } from "../tab/page-scripts.ts";

export const DETACHED =
  /Invalid frame in aria-ref|Frame was detached|Execution context was destroyed|Element is not attached/i;

/**
 * Whether an element fits. The library counts none as well where its question was lost, by a navigation or when a
 * person's browser ends the extension's worker: so none is counted again.
 */
export async function fitsAny(locator: Locator): Promise<boolean> {
  return (await locator.count()) > 0 || (await locator.count()) > 0;
}

/** False at once where there is no such element; nothing waits for one to come. */
export async function isThere(locator: Locator): Promise<boolean> {
  try {
    return await fitsAny(locator);
  } catch (error) {
    if (DETACHED.test(String((error as Error).message))) return false;
    throw error;
  }
}

/**
 * The element's state, or `undefined` at once where there is no such element. Counting does not wait, probing would:
 * both are sent together, so that the usual case costs one round trip. A look that is lost is taken again.
 */
export async function look(
  locator: Locator,
  needs: ProbeNeeds,
  timeoutMs: number,
  tries = 2,
): Promise<Probe | undefined> {
  const giveUp = new AbortController();
  const probing = locator.evaluate(probeElement, needs, {
    timeout: timeoutMs,
    signal: giveUp.signal,
  });
  probing.catch(() => {});
  try {
    return (await isThere(locator)) ? await probing : undefined;
  } catch (error) {
    if (!DETACHED.test(String((error as Error).message))) throw error;
  } finally {
    giveUp.abort();
  }
  return tries > 1 ? look(locator, needs, timeoutMs, tries - 1) : undefined;
}
