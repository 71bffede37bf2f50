/** Boxes that a page hides under their labels to draw its own: what a person clicks there is the label. */
import { PorticoError } from "portico";
import type { Locator } from "../drivers/playwright.ts";
import { labelFor, placeInLabel } from "../tab/page-scripts.ts";

/** Clicks the label that stands for an element; with what else a click takes. Throws where something lies over it. */
export type ClickLabel = (options?: Parameters<Locator["click"]>[0]) => Promise<void>;

export interface Limits {
  timeout: number;
  signal: AbortSignal;
}

/** How the label of an element is clicked, within the limits. */
export const labelClick =
  (locator: Locator, limits: Limits): ClickLabel =>
  async (options) => {
    const label = (await locator.evaluateHandle(labelFor, undefined, limits)).asElement();
    if (label === null)
      throw new PorticoError("action_failed", "The label of the element is gone.");
    const position = await locator.evaluate(placeInLabel, undefined, limits);
    await label.click({ ...options, ...limits, position });
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
  if ((await locator.isChecked(limits)) !== checked)
    throw new PorticoError("action_failed", "A click on its label did not change the box.");
}
