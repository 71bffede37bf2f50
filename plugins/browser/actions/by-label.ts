/** Operates boxes that a page hides under their labels to draw its own: as a user would, by clicking the label. */
import { errors } from "../errors.ts";
import type { Locator } from "../drivers/playwright.ts";
import { findLabel, positionInLabel } from "../tab/page-scripts.ts";
import type { Tab } from "../tab/tab.ts";
import { press } from "./clicking.ts";
import type { ClickLabel, Limits } from "./trial.ts";

/** Creates a function that clicks the label of an element, within the limits. */
export const createLabelClick =
  (tab: Tab, locator: Locator, limits: Limits): ClickLabel =>
  async (options) => {
    const label = (await locator.evaluateHandle(findLabel, undefined, limits)).asElement();
    if (label === null) throw errors.labelGone();
    const position = await locator.evaluate(positionInLabel, undefined, limits);
    await press(tab, limits, (pressLimits) =>
      label.click({ ...options, ...pressLimits, position }),
    );
  };

/** Checks or unchecks a box by its label. Clicks nothing if the box already has that state. */
export async function setByLabel(
  checked: boolean,
  click: ClickLabel,
  locator: Locator,
  limits: Limits,
): Promise<void> {
  if ((await locator.isChecked(limits)) === checked) return;
  await click();
  if ((await locator.isChecked(limits)) !== checked) throw errors.labelWithoutEffect();
}
