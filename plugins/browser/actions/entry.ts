/** Text into a field. */
import { PorticoError } from "portico";
import type { Locator } from "../drivers/playwright.ts";
import { entryOf } from "../tab/page-scripts.ts";
import type { Limits } from "./trial.ts";

const FORMS: Readonly<Record<string, string>> = {
  color: "#rrggbb",
  date: "2026-01-31",
  "datetime-local": "2026-01-31T12:30",
  month: "2026-01",
  number: "a number",
  range: "a number within its bounds and steps",
  time: "12:30",
  week: "2026-W05",
};

/** True where the field takes keys; one with a picker is only ever set as a whole. 422 for what it would not hold. */
export async function takesKeys(locator: Locator, text: string, limits: Limits): Promise<boolean> {
  const entry = await locator.evaluate(entryOf, text, limits);
  if (FORMS[entry] === undefined) return entry === "typed";
  throw new PorticoError(
    "action_failed",
    `The field is of type ${entry} and does not take ${JSON.stringify(text.slice(0, 60))}: give it ${FORMS[entry]}.`,
  );
}

/** Replaces what the field holds. */
export async function enter(locator: Locator, text: string, limits: Limits): Promise<void> {
  await takesKeys(locator, text, limits);
  await locator.fill(text, limits);
}
