/** Options of a list, by value or by label. */
import { errors } from "../errors.ts";
import type { Locator } from "../drivers/playwright.ts";
import { holdsOne } from "../tab/page-scripts.ts";
import type { Trial } from "./trial.ts";

/** Waits briefly for options that the page adds later, then reports the missing one. */
const OPTION_MS = 2_000;

/** Chooses these and no others; answers the values that are chosen. 422 where a list that holds one is given more. */
export const choose =
  (values: readonly string[], explicit: boolean): Trial["work"] =>
  async (locator: Locator, { timeout, signal }) => {
    const several = new Set(values).size;
    if (several > 1 && (await locator.evaluate(holdsOne, undefined, { timeout, signal })))
      throw errors.listTakesOneValue({ count: several });
    return locator.selectOption([...values], {
      timeout: explicit ? timeout : Math.min(timeout, OPTION_MS),
      signal,
    });
  };
