/** Boxes that a page hides under their labels to draw its own: what a person clicks there is the label. */
import { errors } from "../errors.ts";
import type { Locator } from "../drivers/playwright.ts";
import { labelFor, placeInLabel } from "../tab/page-scripts.ts";
import type { Tab } from "../tab/tab.ts";
import { press } from "./clicking.ts";
import type { ClickLabel, Limits } from "./trial.ts";

/** How the label of an element is clicked, within the limits. */
export const labelClick =
  (tab: Tab, locator: Locator, limits: Limits): ClickLabel =>
  async (options) => {
    const label = (await locator.evaluateHandle(labelFor, undefined, limits)).asElement();
    if (label === null) throw errors.labelGone();
    const position = await locator.evaluate(placeInLabel, undefined, limits);
    await press(tab, limits, (within) => label.click({ ...options, ...within, position }));
  };

/** Checks or unchecks a box by its label; nothing is clicked where it is as wanted. */
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
