/** Selects options of a list, by value or by label. */
import { errors } from "../errors.ts";
import type { Locator } from "../drivers/playwright.ts";
import { isSingleValueList } from "../tab/page-scripts.ts";
import type { Trial } from "./trial.ts";

/** Waits briefly for options that the page adds later, then reports the missing one. */
const OPTION_MS = 2_000;

/**
 * Selects exactly these options and returns their values. Rejects with a 422 if a list with a single value is given
 * more.
 */
export const selectOptions =
  (values: readonly string[], isExplicit: boolean): Trial["work"] =>
  async (locator: Locator, { timeout, signal }) => {
    const count = new Set(values).size;
    if (count > 1 && (await locator.evaluate(isSingleValueList, undefined, { timeout, signal })))
      throw errors.listAcceptsOneValue({ count });
    return locator.selectOption([...values], {
      timeout: isExplicit ? timeout : Math.min(timeout, OPTION_MS),
      signal,
    });
  };
