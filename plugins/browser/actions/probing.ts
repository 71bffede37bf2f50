/** Checks whether an element exists, and probes its state. */
import type { Locator } from "../drivers/playwright.ts";
import { type Probe, probeElement, type ProbeNeeds } from "../tab/page-scripts.ts";

export const DETACHED =
  /Invalid frame in aria-ref|Frame was detached|Execution context was destroyed|Element is not attached/i;

/**
 * True if an element matches. The library also counts none if its query was lost, by a navigation or when a user's
 * browser ends the extension's worker, so a count of none is repeated.
 */
export async function existsAny(locator: Locator): Promise<boolean> {
  return (await locator.count()) > 0 || (await locator.count()) > 0;
}

/** Returns false at once if there is no such element, without waiting for one. */
export async function isPresent(locator: Locator): Promise<boolean> {
  try {
    return await existsAny(locator);
  } catch (error) {
    if (DETACHED.test(String((error as Error).message))) return false;
    throw error;
  }
}

/**
 * Returns the element's state, or `undefined` at once if there is no such element. Counting does not wait but probing
 * would; both are sent together, so that the usual case costs one round trip. A lost probe is repeated.
 */
export async function probeLocator(
  locator: Locator,
  needs: ProbeNeeds,
  timeoutMs: number,
  tries = 2,
): Promise<Probe | undefined> {
  const abort = new AbortController();
  const probing = locator.evaluate(probeElement, needs, {
    timeout: timeoutMs,
    signal: abort.signal,
  });
  probing.catch(() => {});
  try {
    return (await isPresent(locator)) ? await probing : undefined;
  } catch (error) {
    if (!DETACHED.test(String((error as Error).message))) throw error;
  } finally {
    abort.abort();
  }
  return tries > 1 ? probeLocator(locator, needs, timeoutMs, tries - 1) : undefined;
}
